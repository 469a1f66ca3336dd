package http

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events/items"
	"signoff/internal/events/items/paging"
)

const maxItemPage = paging.PageBytes // of two items or more

type listItems struct {
	executionPath
	numbered
}

// listItems returns the execution as a conversation, page by page. The cursor is a number of items, since items are never removed or
// moved.
func (s *Server) listItems(ctx context.Context, request listItems) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	after := request.start()
	read, err := s.items.Read(ctx, execution, after, request.Limit)
	if err != nil {
		return nil, err
	}
	page := itemPage{lastSeq: read.LastSeq}
	page.fill(read.Items)
	if end := after + int64(page.count); end < read.Count {
		page.next = strconv.Quote(strconv.FormatInt(end, 10))
	}
	return page, nil
}

// itemPage encodes items as it is filled: an item's size is known only after that, and encoding twice would waste time.
type itemPage struct {
	count   int
	next    string // the cursor, quoted; empty: this is the last page
	lastSeq int64
	encoded []byte // the items, with commas between
}

func (p *itemPage) fill(all []items.Item) {
	for _, item := range all {
		next := domain.Encode(toItem(item))
		if p.count > 0 && len(p.encoded)+len(next) > maxItemPage {
			return
		}
		if p.count > 0 {
			p.encoded = append(p.encoded, ',')
		}
		p.encoded = append(p.encoded, next...)
		p.count++
	}
}

func (p itemPage) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeJSON)
	_, err := fmt.Fprintf(w, `{"items":[%s],"lastSeq":%d,"nextCursor":%s}`+"\n", p.encoded, p.lastSeq, cmp.Or(p.next, "null"))
	return err
}

// itemView is an item with its times in the contract's format. Its other fields have the contract's shape already.
type itemView struct {
	items.Item
	CreatedAt api.Time  `json:"createdAt"`
	UpdatedAt api.Time  `json:"updatedAt"`
	Tool      *toolView `json:"tool,omitempty"`
}

type toolView struct {
	items.Tool
	StartedAt *api.Time `json:"startedAt,omitempty"`
}

func toItem(item items.Item) itemView {
	view := itemView{Item: item, CreatedAt: api.Time(item.CreatedAt), UpdatedAt: api.Time(item.UpdatedAt)}
	if item.Tool != nil {
		view.Tool = &toolView{*item.Tool, timeOrNull(item.Tool.StartedAt)}
	}
	return view
}

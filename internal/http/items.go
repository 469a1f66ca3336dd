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
	named
	numbered
}

// listItems tells the execution as a conversation, page by page. The cursor is a number of items: none is taken away, and
// none moves.
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

// itemPage is encoded as it is filled: how large an item is shows only then, and twice would be once too often.
type itemPage struct {
	count   int
	next    string // the cursor, quoted; empty: there is nothing more
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

// respond writes the items as they were encoded.
func (p itemPage) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeJSON)
	_, err := fmt.Fprintf(w, `{"items":[%s],"lastSeq":%d,"nextCursor":%s}`+"\n", p.encoded, p.lastSeq, cmp.Or(p.next, "null"))
	return err
}

// shownItem is an item with its times as the contract writes them; all else of it has the contract's shape already.
type shownItem struct {
	items.Item
	CreatedAt api.Time   `json:"createdAt"`
	UpdatedAt api.Time   `json:"updatedAt"`
	Tool      *shownTool `json:"tool,omitempty"`
}

type shownTool struct {
	items.Tool
	StartedAt *api.Time `json:"startedAt,omitempty"`
}

func toItem(item items.Item) shownItem {
	shown := shownItem{Item: item, CreatedAt: api.Time(item.CreatedAt), UpdatedAt: api.Time(item.UpdatedAt)}
	if item.Tool != nil {
		shown.Tool = &shownTool{*item.Tool, timeOrNull(item.Tool.StartedAt)}
	}
	return shown
}

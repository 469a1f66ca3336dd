package http

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events/items"
)

const (
	defaultItemLimit = 100
	maxItemPage      = 4 << 20 // bytes, of two items or more
	// Whatever the page is, the whole log goes through memory for it, and that of a long execution is large: who asks for
	// many at once waits for a place.
	maxTellings = 4
)

// ListItems tells the execution as a conversation, page by page. The cursor is a number of items: none is taken away, and
// none moves.
func (s *Server) ListItems(ctx context.Context, request api.ListItemsRequestObject) (api.ListItemsResponseObject, error) {
	execution, err := s.execution(ctx, request.Id)
	if err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt(value(request.Params.After, "0"), 10, 64)
	if err != nil { // unreachable: the document allows 1 to 18 digits
		return nil, malformed("The cursor is not one that this service gave out.")
	}
	select {
	case s.tellings <- struct{}{}:
		defer func() { <-s.tellings }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	told, err := s.tell(ctx, execution)
	if err != nil {
		return nil, err
	}
	all := told.Items()
	page := itemPage{lastSeq: told.LastSeq(), from: int(min(after, int64(len(all))))}
	page.fill(all, value(request.Params.Limit, defaultItemLimit))
	return page, nil
}

// tell makes items of a log. It is read in pieces, and nothing of it is kept but the items.
func (s *Server) tell(ctx context.Context, execution domain.Execution) (*items.Reducer, error) {
	reducer := items.New(execution.Request)
	for {
		page, err := s.reader.EventPage(ctx, execution.ID, reducer.LastSeq(), logPageEvents, logPageBytes)
		if err != nil || len(page) == 0 {
			return reducer, err
		}
		for _, event := range page {
			if err := reducer.Take(event); err != nil {
				return nil, err
			}
		}
	}
}

// itemPage is encoded as it is filled: how large an item is shows only then, and twice would be once too often.
type itemPage struct {
	from, count int
	more        bool
	lastSeq     int64
	encoded     []byte // the items, with commas between
}

func (p *itemPage) fill(all []items.Item, limit int) {
	for _, item := range all[p.from:] {
		next := domain.Encode(toItem(item))
		if p.count == limit || p.count > 0 && len(p.encoded)+len(next) > maxItemPage {
			p.more = true
			return
		}
		if p.count > 0 {
			p.encoded = append(p.encoded, ',')
		}
		p.encoded = append(p.encoded, next...)
		p.count++
	}
}

// VisitListItemsResponse writes the items as they were encoded.
func (p itemPage) VisitListItemsResponse(w http.ResponseWriter) error {
	next := "null"
	if p.more {
		next = strconv.Quote(strconv.Itoa(p.from + p.count))
	}
	w.Header().Set("Content-Type", typeJSON)
	_, err := fmt.Fprintf(w, `{"items":[%s],"lastSeq":%d,"nextCursor":%s}`+"\n", p.encoded, p.lastSeq, next)
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

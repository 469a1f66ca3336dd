package http

import (
	"context"
	"encoding/json"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events/items"
)

// ListItems tells the execution as a conversation. The log is read in pieces, and nothing of it is kept but the items.
func (s *Server) ListItems(ctx context.Context, request api.ListItemsRequestObject) (api.ListItemsResponseObject, error) {
	execution, err := s.execution(ctx, request.Id)
	if err != nil {
		return nil, err
	}
	reducer := items.New(execution.Request)
	for {
		page, err := s.reader.EventPage(ctx, execution.ID, reducer.LastSeq(), logPageEvents, logPageBytes)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, event := range page {
			if err := reducer.Take(event); err != nil {
				return nil, err
			}
		}
	}
	out := api.ListItems200JSONResponse{Items: []json.RawMessage{}, LastSeq: reducer.LastSeq()}
	for _, item := range reducer.Items() {
		out.Items = append(out.Items, domain.Encode(toItem(item)))
	}
	return out, nil
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

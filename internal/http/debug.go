package http

import (
	"context"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/stream"
)

type listDebugMessages struct {
	executionPath
	numbered
}

// listDebugMessages returns the messages between Signoff and an external agent. An execution without debug has none.
func (s *Server) listDebugMessages(ctx context.Context, request listDebugMessages) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	page, err := s.reader.DebugPage(ctx, execution.ID, request.start(), request.Limit, stream.MaxPage)
	if err != nil {
		return nil, err
	}
	response := api.DebugPage{Items: mapped(page, toDebugMessage)}
	if len(page) > 0 { // a page ends by its count or by its size, so only a read behind it shows whether there is more
		last := page[len(page)-1].N
		var more []domain.DebugMessage
		if more, err = s.reader.DebugPage(ctx, execution.ID, last, 1, stream.MaxPage); len(more) > 0 {
			response.NextCursor = new(strconv.FormatInt(last, 10))
		}
	}
	return okJSON(response), err
}

func toDebugMessage(m domain.DebugMessage) api.DebugMessage {
	return api.DebugMessage{N: m.N, Time: api.Time(m.Time), Direction: m.Direction, Message: m.Message, Bytes: m.Bytes}
}

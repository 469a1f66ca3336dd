package http

import (
	"context"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/stream"
)

type listDebugMessages struct {
	named
	numbered
}

// listDebugMessages shows what went between Signoff and an external agent. Where debug is off there is nothing.
func (s *Server) listDebugMessages(ctx context.Context, request listDebugMessages) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	messages, err := s.reader.DebugPage(ctx, execution.ID, request.start(), request.Limit, stream.MaxPage)
	if err != nil {
		return nil, err
	}
	next, err := s.debugCursor(ctx, execution.ID, messages)
	return okJSON(api.DebugPage{Items: toDebugMessages(messages), NextCursor: next}), err
}

// debugCursor is where to go on after a page. A page ends by its number of messages or by its size, so only a look
// behind its end tells whether there is more.
func (s *Server) debugCursor(ctx context.Context, id domain.ExecutionID, page []domain.DebugMessage) (*string, error) {
	if len(page) == 0 {
		return nil, nil //nolint:nilnil // the end of a list is null in the contract
	}
	last := page[len(page)-1].N
	more, err := s.reader.DebugPage(ctx, id, last, 1, stream.MaxPage)
	if err != nil || len(more) == 0 {
		return nil, err
	}
	return new(strconv.FormatInt(last, 10)), nil
}

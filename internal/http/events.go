package http

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/stream"
	"signoff/internal/store"
)

const defaultEventLimit = 200 // of a page; that a stream has none is why the request tells whether it was sent

type listEvents struct {
	named
	LastEventID string `header:"Last-Event-ID"`
	After       string `query:"after"`
	Limit       *int   `query:"limit"`
}

// listEvents gives the log of an execution, as a stream or as a page. One query tells whose the execution is and how far
// its log goes.
func (s *Server) listEvents(ctx context.Context, request listEvents) (responder, error) {
	id, err := domain.ParseExecutionID(request.ID)
	if err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt(cmp.Or(request.LastEventID, request.After), 10, 64)
	if err != nil { // unreachable: the document allows 1 to 18 digits
		return nil, domain.Errorf(domain.CodeMalformed, "The cursor is not one that this service gave out.")
	}
	follow := func() (*events.Follower, error) {
		return s.events.FollowBy(id, after, func() (store.Head, error) { return s.reader.HeadOf(ctx, who(ctx).Tenant, id) })
	}
	media := negotiate(infoOf(ctx).accept, typeStream, typeJSON)
	switch {
	case media == typeJSON:
		return eventPage(ctx, follow, api.Or(request.Limit, defaultEventLimit))
	case media == typeStream && request.Limit == nil:
		return s.eventStream(ctx, after, follow)
	}
	if _, err := s.execution(ctx, request.ID); err != nil { // what is not there is told before what is asked wrongly
		return nil, err
	}
	if media == typeStream {
		return nil, domain.Invalid("limit", "A stream has no limit; ask for a page with Accept: application/json.")
	}
	return nil, domain.Errorf(domain.CodeNotAcceptable, "There are text/event-stream and application/json.")
}

// eventStream opens a stream. Whoever has everything of an execution that has ended gets 204, the one status that
// makes an EventSource stop.
func (s *Server) eventStream(ctx context.Context, after int64, follow func() (*events.Follower, error)) (responder, error) {
	opened, err := s.openStream(ctx, func() (stream.Follower, error) { return follow() },
		func(last string) string {
			return fmt.Sprintf(`{"type":"stream.synced","lastSeq":%s}`, cmp.Or(last, strconv.FormatInt(after, 10)))
		})
	if err != nil {
		return nil, err
	}
	if opened.Ended() {
		opened.Close()
		return noContent{}, nil
	}
	return opened, nil
}

// eventPage reads a page through a follower, so that its events are byte for byte those of the stream.
func eventPage(ctx context.Context, follow func() (*events.Follower, error), limit int) (responder, error) {
	follower, err := follow()
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	page, err := stream.ReadPage(ctx, follower, limit)
	return responderFunc(page.Send), err
}

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

const (
	defaultEventLimit = 200 // of a page; a stream has no limit
	maxSeqDigits      = 18  // of a cursor, so that it fits into an int64
)

type listEvents struct {
	executionPath
	LastEventID string `header:"Last-Event-ID"`
	After       string `query:"after"`
	Limit       *int   `query:"limit"`
	Tree        bool   `query:"tree"`
}

// listEvents returns the log of an execution, as a stream or as a page. One query reads both the owner of the execution and the end of
// its log.
func (s *Server) listEvents(ctx context.Context, request listEvents) (responder, error) {
	cursor := cmp.Or(request.LastEventID, request.After)
	if request.Tree {
		return s.treeEvents(ctx, request, cursor)
	}
	after, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || after < 0 || len(cursor) > maxSeqDigits { // it is one of a merged stream
		return nil, domain.Errorf(domain.CodeMalformed, "Last-Event-ID or after is not a cursor of the log of one execution, which is a number of at most %d digits.", maxSeqDigits)
	}
	follow := func() (*events.Follower, error) {
		return s.events.FollowBy(request.ID, after, func() (store.Head, error) { return s.reader.HeadOf(ctx, principalOf(ctx).Tenant, request.ID) })
	}
	media := negotiate(infoOf(ctx).accept, typeStream, typeJSON)
	switch {
	case media == typeJSON:
		return eventPage(ctx, follow, api.Or(request.Limit, defaultEventLimit))
	case media == typeStream && request.Limit == nil:
		return s.eventStream(ctx, after, follow)
	}
	if _, err := s.execution(ctx, request.ID); err != nil { // a missing execution before a wrong request
		return nil, err
	}
	if media == typeStream {
		return nil, errStreamLimit
	}
	return nil, errNoEventMedia
}

func (s *Server) eventStream(ctx context.Context, after int64, follow func() (*events.Follower, error)) (responder, error) {
	return s.streamUntilEnd(ctx, func() (stream.Follower, error) { return follow() },
		func(last string) string {
			return fmt.Sprintf(`{"type":"stream.synced","lastSeq":%s}`, cmp.Or(last, strconv.FormatInt(after, 10)))
		})
}

// streamUntilEnd opens a stream. After the last event a client gets 204, the only status that makes an EventSource stop.
func (s *Server) streamUntilEnd(ctx context.Context, follow func() (stream.Follower, error), synced func(last string) string) (responder, error) {
	opened, err := s.openStream(ctx, follow, synced)
	if err != nil {
		return nil, err
	}
	if opened.Ended() {
		opened.Close()
		return noContent{}, nil
	}
	return opened, nil
}

// eventPage reads a page through a follower, so that its events have the same bytes as those of the stream.
func eventPage(ctx context.Context, follow func() (*events.Follower, error), limit int) (responder, error) {
	follower, err := follow()
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	page, err := stream.ReadPage(ctx, follower, limit)
	return responderFunc(page.Send), err
}

package http

import (
	"cmp"
	"context"
	"net/http"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/stream"
	"signoff/internal/store"
)

type followEvents struct {
	LastEventID string `header:"Last-Event-ID"`
	After       string `query:"after"`
	From        string `query:"from"`
	Limit       *int   `query:"limit"`
}

// followEvents follows the events of all executions of the tenant, as a stream or page by page.
func (s *Server) followEvents(ctx context.Context, request followEvents) (responder, error) {
	follow, err := s.feed(ctx, request)
	if err != nil {
		return nil, err
	}
	switch negotiate(infoOf(ctx).accept, typeStream, typeJSON) {
	case typeJSON:
		return readFeed(ctx, follow, api.Or(request.Limit, defaultEventLimit))
	case typeStream:
		if request.Limit != nil {
			return nil, domain.Invalid("limit", "A stream has no limit; ask for a page with Accept: application/json.")
		}
		return s.openStream(ctx, func() (stream.Follower, error) { return follow() },
			func(string) string { return `{"type":"stream.synced"}` })
	default:
		return nil, domain.Errorf(domain.CodeNotAcceptable, "There are text/event-stream and application/json.")
	}
}

// feed returns a function that follows from the place that the request names. A cursor beats from: a client that reconnects repeats its
// address, and would otherwise lose the events in between.
func (s *Server) feed(ctx context.Context, request followEvents) (func() (*events.FeedFollower, error), error) {
	tenant := principalOf(ctx).Tenant
	opaque := cmp.Or(request.LastEventID, request.After)
	if opaque == "" && request.From == "now" {
		return func() (*events.FeedFollower, error) { return s.events.FollowNew(ctx, tenant) }, nil
	}
	var after store.FeedCursor
	if opaque != "" {
		var err error
		if after, err = store.ParseFeedCursor(opaque); err != nil {
			return nil, err
		}
	}
	return func() (*events.FeedFollower, error) { return s.events.FollowAll(ctx, tenant, after) }, nil
}

func readFeed(ctx context.Context, follow func() (*events.FeedFollower, error), limit int) (responder, error) {
	follower, err := follow()
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	begin := ""
	if cursor := follower.Cursor(); cursor != (store.FeedCursor{}) {
		begin = cursor.String()
	}
	page, err := stream.ReadPage(ctx, follower, limit)
	return responderFunc(func(w http.ResponseWriter) error { return page.SendWithCursor(w, begin) }), err
}

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
	return mergedEvents(ctx, s, follow, request.Limit)
}

// mergedEvents returns the events of several executions, as a stream or as a page.
func mergedEvents[F feedFollower](ctx context.Context, s *Server, follow func() (F, error), limit *int) (responder, error) {
	switch negotiate(infoOf(ctx).accept, typeStream, typeJSON) {
	case typeJSON:
		return readFeed(ctx, follow, api.Or(limit, defaultEventLimit))
	case typeStream:
		if limit != nil {
			return nil, errStreamLimit
		}
		return s.streamUntilEnd(ctx, func() (stream.Follower, error) { return follow() }, func(string) string { return `{"type":"stream.synced"}` })
	default:
		return nil, errNoEventMedia
	}
}

var (
	errStreamLimit  = domain.Invalid("limit", "A stream has no limit; ask for a page with Accept: application/json.")
	errNoEventMedia = domain.Errorf(domain.CodeNotAcceptable, "There are text/event-stream and application/json.")
)

// root returns an execution that must be a root.
func (s *Server) root(ctx context.Context, id domain.ExecutionID) (domain.Execution, error) {
	root, err := s.execution(ctx, id)
	if err == nil && root.Root() != root.ID {
		err = domain.Errorf(domain.CodeConflict, "Another execution has delegated this one: ask for the tree of its root %s.", root.Root())
	}
	return root, err
}

// treeEvents follows the events of a root and of all executions below it, with the frames of the merged stream.
func (s *Server) treeEvents(ctx context.Context, request listEvents, opaque string) (responder, error) {
	root, err := s.root(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	var after store.FeedCursor
	if opaque != fromTheFirst {
		if after, err = store.ParseFeedCursor(opaque); err != nil {
			return nil, err
		}
	}
	follow := func() (*events.TreeFollower, error) { return s.events.FollowTree(ctx, root.Tenant, root.ID, after) }
	return mergedEvents(ctx, s, follow, request.Limit)
}

// fromTheFirst is the documented cursor of a client that has no event.
const fromTheFirst = "0"

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

// feedFollower follows a merged stream, whose cursors are opaque.
type feedFollower interface {
	stream.Follower
	Cursor() store.FeedCursor
}

func readFeed[F feedFollower](ctx context.Context, follow func() (F, error), limit int) (responder, error) {
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

package http

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events"
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
		return s.openStream(ctx, func() (follower, error) { return follow() },
			func(string) string { return `{"type":"stream.synced"}` })
	default:
		return nil, domain.Errorf(domain.CodeNotAcceptable, "There are text/event-stream and application/json.")
	}
}

// feed tells where to begin. A cursor counts before `from`: a client that comes back asks with the same address as before,
// and would lose what happened in between.
func (s *Server) feed(ctx context.Context, request followEvents) (func() (*events.FeedFollower, error), error) {
	tenant := who(ctx).Tenant
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
	begin := follower.Cursor()
	page, err := readPage(ctx, follower, limit)
	if err != nil {
		return nil, err
	}
	return feedPage{page, begin}, nil
}

// feedPage says where it ends even where nothing follows yet: there is always a way to go on.
type feedPage struct {
	eventPage
	begin store.FeedCursor
}

// respond writes the bytes that the log encoded.
func (p feedPage) respond(w http.ResponseWriter) error {
	body := append(p.appendTo(nil), `,"cursor":`...)
	switch {
	case len(p.frames) > 0:
		body = strconv.AppendQuote(body, p.frames[len(p.frames)-1].ID)
	case p.begin != store.FeedCursor{}:
		body = strconv.AppendQuote(body, p.begin.String())
	default:
		body = append(body, "null"...)
	}
	w.Header().Set("Content-Type", typeJSON)
	_, err := w.Write(append(body, "}\n"...))
	return err
}

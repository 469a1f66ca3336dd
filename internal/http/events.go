package http

import (
	"cmp"
	"context"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

const (
	typeStream = "text/event-stream"
	typeJSON   = "application/json"

	defaultEventLimit = 200 // of a page; that a stream has none is why the request tells whether it was sent
)

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
		return eventsPage(ctx, follow, api.Or(request.Limit, defaultEventLimit))
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

// negotiate picks what the client likes best of what is offered; the first where it does not care, nothing where it
// takes none (RFC 9110, section 12.5.1).
func negotiate(accept []string, offered ...string) (best string) {
	if len(accept) == 0 {
		return offered[0]
	}
	liking := 0.0
	for _, media := range offered {
		if quality := likes(accept, media); quality > liking {
			best, liking = media, quality
		}
	}
	return best
}

// likes is the quality that the client gives to a media type. What it says of exactly this one counts, before what it
// says of the kind, before what it says of all: "text/*;q=0, */*" takes no text.
func likes(accept []string, media string) (quality float64) {
	kind, _, _ := strings.Cut(media, "/")
	patterns := []string{"*/*", kind + "/*", media}
	closest := -1
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		pattern, parameters, err := mime.ParseMediaType(part)
		near := slices.Index(patterns, pattern)
		if err != nil || near < closest || near < 0 {
			continue
		}
		if q, valid := weight(parameters); valid && (near > closest || q > quality) {
			closest, quality = near, q
		}
	}
	return quality
}

func weight(parameters map[string]string) (q float64, valid bool) {
	text, given := parameters["q"]
	if !given {
		return 1, true
	}
	q, err := strconv.ParseFloat(text, 64)
	return q, err == nil && q >= 0 && q <= 1
}

// maxPage is about how large a page gets in bytes, however many events the client asks for.
const maxPage = 1 << 20

// eventsPage reads a page through a follower, so that its events are byte for byte those of the stream.
func eventsPage(ctx context.Context, follow func() (*events.Follower, error), limit int) (responder, error) {
	follower, err := follow()
	if err != nil {
		return nil, err
	}
	defer follower.Close()
	return readPage(ctx, follower, limit)
}

// readPage takes at most limit frames, and at most about as many as make a page.
func readPage(ctx context.Context, follower follower, limit int) (page eventPage, err error) {
	for size := 0; len(page.frames) <= limit; { // one more tells that there is a next page
		if size > maxPage {
			page.more = true
			return page, nil
		}
		frames, err := follower.Next(ctx)
		if err != nil || len(frames) == 0 {
			return page, err
		}
		page.frames = append(page.frames, frames...)
		for _, frame := range frames {
			size += len(frame.SSE)
		}
	}
	return eventPage{frames: page.frames[:limit], more: true}, nil
}

type eventPage struct {
	frames []events.Frame
	more   bool
}

// respond writes the bytes that the log encoded.
func (p eventPage) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeJSON)
	_, err := w.Write(append(p.appendTo(nil), "}\n"...))
	return err
}

// appendTo writes the items and the cursor of the next page. The brace is left open.
func (p eventPage) appendTo(body []byte) []byte {
	body = append(body, `{"items":[`...)
	for i, frame := range p.frames {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, frame.JSON()...)
	}
	body = append(body, `],"nextCursor":`...)
	if !p.more {
		return append(body, "null"...)
	}
	return strconv.AppendQuote(body, p.frames[len(p.frames)-1].ID)
}

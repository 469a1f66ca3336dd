package stream

import (
	"context"
	"net/http"
	"strconv"

	"signoff/internal/events"
)

// MaxPage is the approximate limit of a page in bytes, for any number of events.
const MaxPage = 1 << 20

// Page is a part of a log, in the same bytes as the stream would send.
type Page struct {
	frames []events.Frame
	more   bool
}

// ReadPage reads at most limit frames, and at most about [MaxPage] bytes.
func ReadPage(ctx context.Context, follower Follower, limit int) (page Page, err error) {
	for size := 0; len(page.frames) <= limit; { // one more shows that there is a next page
		if size > MaxPage {
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
	return Page{frames: page.frames[:limit], more: true}, nil
}

// Send writes the page.
func (p Page) Send(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(append(p.appendTo(nil), "}\n"...))
	return err
}

// SendWithCursor also writes the cursor of the page's end, so that a client can continue later even from the last page. An empty page
// ends at begin; an empty begin is the beginning of the log.
func (p Page) SendWithCursor(w http.ResponseWriter, begin string) error {
	body := append(p.appendTo(nil), `,"cursor":`...)
	switch {
	case len(p.frames) > 0:
		body = strconv.AppendQuote(body, p.frames[len(p.frames)-1].ID)
	case begin != "":
		body = strconv.AppendQuote(body, begin)
	default:
		body = append(body, "null"...)
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(append(body, "}\n"...))
	return err
}

// appendTo appends the items and the cursor of the next page, without the closing brace.
func (p Page) appendTo(body []byte) []byte {
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

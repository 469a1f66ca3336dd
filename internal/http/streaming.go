package http

import (
	"context"
	"net/http"

	"signoff/internal/http/stream"
)

// streamResponse is a stream as the response to a request.
type streamResponse struct {
	*stream.Stream
	info *requestInfo
}

// openStream opens a stream for the sender of a request.
func (s *Server) openStream(ctx context.Context, follow func() (stream.Follower, error), synced func(last string) string) (streamResponse, error) {
	i := infoOf(ctx)
	opened, err := s.streams.Open(stream.Request{
		Context: ctx, ID: i.requestID, KeyID: i.principal.Actor.KeyID, Chunked: i.chunked, HeadOnly: i.headOnly,
		Detach: func() (ended func(abandoned bool)) {
			i.detached = true
			entry := i.entry()
			return func(abandoned bool) {
				if abandoned {
					entry.status = statusAbandoned
				}
				s.record(entry)
			}
		},
	}, follow, synced)
	return streamResponse{opened, i}, err
}

func (r streamResponse) respond(w http.ResponseWriter) error {
	r.info.abandoned = r.Serve(w)
	return nil // the response has begun, so there is no error to send
}

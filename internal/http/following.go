package http

import (
	"context"
	"net/http"

	"signoff/internal/http/stream"
)

// following answers with a stream.
type following struct {
	*stream.Stream
	info *info
}

// openStream opens a stream for the sender of a request.
func (s *Server) openStream(ctx context.Context, follow func() (stream.Follower, error), synced func(last string) string) (following, error) {
	i := infoOf(ctx)
	opened, err := s.streams.Open(stream.Request{
		Context: ctx, ID: i.requestID, KeyID: i.principal.Actor.KeyID, Chunked: i.chunked, HeadOnly: i.headOnly,
		Detach: func() (ended func(abandoned bool)) {
			i.taken = true
			v := i.visit()
			return func(abandoned bool) {
				if abandoned {
					v.status = statusAbandoned
				}
				s.account(v)
			}
		},
	}, follow, synced)
	return following{opened, i}, err
}

func (f following) respond(w http.ResponseWriter) error {
	f.info.abandoned = f.Serve(w)
	return nil // the response has begun; there is nothing more to answer
}

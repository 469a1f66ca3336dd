package http

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// admit stands before every route, after routing: who sends this, may the key do it, and is the request what the
// document says. In this order, so that nobody without a key learns anything about the input.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.admission(w, r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) admission(w http.ResponseWriter, r *http.Request) error {
	o := s.contract.operations[r.Method+" "+chi.RouteContext(r.Context()).RoutePattern()]
	if o == nil { // unreachable: the router is generated from the document
		return domain.Errorf(domain.CodeNotFound, "The route is not in the document.")
	}
	if !o.public {
		if err := s.authorize(w, r, o.scope); err != nil {
			return err
		}
	}
	if err := checkParameters(r, o); err != nil {
		return err
	}
	if err := s.plainKey(r); err != nil {
		return err
	}
	return checkBody(w, r, o)
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request, scope keys.Scope) error {
	token, ok := bearer(r)
	if !ok {
		return domain.Errorf(domain.CodeUnauthenticated, "Send Authorization: Bearer with an API key.")
	}
	who, err := s.keys.Verify(r.Context(), token)
	if err != nil {
		return err
	}
	infoOf(r.Context()).principal = who
	if !who.May(scope) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="signoff", error="insufficient_scope", scope="`+string(scope)+`"`)
		return domain.Errorf(domain.CodeForbidden, "The key lacks the scope %s.", scope)
	}
	return nil
}

func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// who is the sender of a request that admit let through.
func who(ctx context.Context) keys.Principal { return infoOf(ctx).principal }

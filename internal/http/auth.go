package http

import (
	"context"
	"net/http"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/http/contract"
	"signoff/internal/keys"
)

// authorize identifies the sender of a request and checks the scope of the key.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request, o *contract.Operation) error {
	if o.Public {
		return nil
	}
	token, ok := bearer(r)
	if !ok {
		return domain.Errorf(domain.CodeUnauthenticated, "Send Authorization: Bearer with an API key.")
	}
	principal, err := s.keys.Verify(r.Context(), token)
	if err != nil {
		return err
	}
	infoOf(r.Context()).principal = principal
	if scope := o.Scope; !principal.May(scope) {
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

// principalOf returns the sender of a request that authorize has accepted.
func principalOf(ctx context.Context) keys.Principal { return infoOf(ctx).principal }

// refuseSecretKey refuses a secret as an idempotency key. The key is stored and compared as it is, so it cannot be masked.
func (s *Server) refuseSecretKey(r *http.Request) error {
	const name = "Idempotency-Key"
	if key := r.Header.Get(name); s.masker.MaskString(key) != key {
		return domain.Invalid(name, "This holds the value of a secret, or what looks like one; choose another key.")
	}
	return nil
}

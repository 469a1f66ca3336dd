package provider

import (
	"context"
	"io"
	"net/http"

	"signoff/internal/domain"
)

// Probe asks the API at address for something that is free, and says why a model there cannot be used: that is [Client].Probe of most.
// An answer that the address is not known counts as well: not every server has a list of its models.
func (s Setup) Probe(ctx context.Context, address string, header http.Header) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return domain.Errorf(domain.CodeModelUnreachable, "Its address cannot be used.").With(err)
	}
	request.Header = header
	response, err := s.Transport.RoundTrip(request)
	if err != nil {
		return domain.Errorf(domain.CodeModelUnreachable, "No connection: %s.", connectionTrouble(err)).With(err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, MaxErrorBytes) // so that the connection can be used again
	switch {
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return domain.Errorf(domain.CodeModelUnauthorized, "The provider does not accept the key.")
	case response.StatusCode >= http.StatusInternalServerError:
		return domain.Errorf(domain.CodeModelFailed, "The provider answers with an error.")
	default:
		return nil
	}
}

package provider

import (
	"context"
	"io"
	"net/http"
	"strings"

	"signoff/internal/domain"
)

// Probe asks the API at address for something that is free, and says why a model there cannot be used: that is [Client].Probe of most.
// An answer that the address is not known counts as well: not every server has a list of its models.
func (s Setup) Probe(ctx context.Context, address string, header http.Header) error {
	response, err := s.get(ctx, address, header)
	if err != nil {
		return err
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

// Bounds of a list of models: a gateway before many vendors has some hundred.
const (
	maxListBytes = 4 << 20
	maxListNames = 2000
)

// List asks the API at address for the names of its models: {"data": [{"id": …}]} is what all of them answer. It returns nil where the server
// does not tell.
func (s Setup) List(ctx context.Context, address string, header http.Header) (names []string) {
	response, err := s.get(ctx, address, header)
	if err != nil {
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxListBytes))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil
	}
	read, err := Document(body)
	if err != nil {
		return nil
	}
	for _, model := range Field(read, "data").Array() {
		name := strings.TrimPrefix(Field(model, "id").Str, "models/") // Gemini's list has names of its other API
		if name = OneLine(name, maxProviderText); name != "" && len(names) < maxListNames {
			names = append(names, name)
		}
	}
	return names
}

func (s Setup) get(ctx context.Context, address string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, domain.Errorf(domain.CodeModelUnreachable, "Its address cannot be used.").With(err)
	}
	request.Header = header
	response, err := s.Transport.RoundTrip(request)
	if err != nil {
		return nil, domain.Errorf(domain.CodeModelUnreachable, "No connection: %s.", connectionTrouble(err)).With(err)
	}
	return response, nil
}

package provider

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Post sends a request by a client of [Setup.HTTPClient] and returns the stream that answers it. Any other answer is an error.
func Post(ctx context.Context, client *http.Client, address string, header http.Header, body []byte) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

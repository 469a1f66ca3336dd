package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// modelClient asks the model for the hub. It keeps connections, as every server does that talks to one model all day.
type modelClient struct {
	client *http.Client
	url    string
}

func newModelClient(url string) modelClient {
	return modelClient{url: url + "/v1/chat/completions", client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}}
}

func (m modelClient) close() { m.client.CloseIdleConnections() }

// ask begins an answer. The caller reads it to its end and closes it, or else its connection is lost.
func (m modelClient) ask(ctx context.Context, conversation []chatMessage) (io.ReadCloser, error) {
	body, err := json.Marshal(chatRequest{Model: "bench", Stream: true, Messages: conversation})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := m.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("the model answers %s: %s", response.Status, said)
	}
	return response.Body, nil
}

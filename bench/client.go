package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"signoff/test/harness"
)

// patience is how long one execution, or one answer, may take.
const patience = 60 * time.Second

// send sends a request and leaves the body of the answer to the caller.
func (t *target) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	response, err := t.Send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s %s of %s: %d %s", method, path, t.name, response.StatusCode, bytes.TrimSpace(said))
	}
	return response, nil
}

// create starts an execution whose agent follows the script.
func (t *target) create(ctx context.Context, s script, more ...object) (id string, err error) {
	body := harness.With(object{"source": object{"type": "internal"}, "prompt": s.String(), "capabilities": object{"execute": "ask", "write": "ask"}}, more...)
	response, err := t.send(ctx, http.MethodPost, "/executions", body)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var created struct{ ID string }
	err = json.NewDecoder(response.Body).Decode(&created)
	return created.ID, err
}

// open opens what a client reads of an execution: its event stream, from the beginning.
func (t *target) open(ctx context.Context, id string) (io.ReadCloser, error) {
	response, err := t.send(ctx, http.MethodGet, "/executions/"+id+"/events", nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// begin creates an execution and opens its stream.
func (t *target) begin(ctx context.Context, s script, more ...object) (io.ReadCloser, error) {
	id, err := t.create(ctx, s, more...)
	if err != nil {
		return nil, err
	}
	return t.open(ctx, id)
}

// decide approves.
func (t *target) decide(ctx context.Context, approval string) error {
	response, err := t.send(ctx, http.MethodPost, "/approvals/"+approval, object{"decision": "approve"})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return err
}

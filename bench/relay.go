package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// serveRelay serves the lower floor: what it costs to pass the model's stream on and do nothing else. It answers
// POST /executions with the stream itself, and neither keeps nor understands it.
func serveRelay(ctx context.Context, stdout io.Writer, modelURL string) error {
	model := newModelClient(modelURL)
	defer model.close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /executions", func(w http.ResponseWriter, r *http.Request) { relayStream(model, w, r) })
	return listenAndServe(ctx, stdout, mux)
}

func relayStream(model modelClient, w http.ResponseWriter, r *http.Request) {
	request, err := readRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stream, err := model.ask(r.Context(), []chatMessage{{Role: "user", Content: request.Prompt}})
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer stream.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	if err := pass(w, stream); err != nil {
		panic(http.ErrAbortHandler) // the status is out; a broken connection is how the client learns that this is not all
	}
}

// pass hands on what has come, whenever something has come.
func pass(w http.ResponseWriter, stream io.Reader) error {
	out := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// floorRequest is what a floor reads of a request for an execution. What else a client tells the real server means nothing to it.
type floorRequest struct {
	Prompt string
	Source struct{ Type string }
}

func readRequest(r *http.Request) (request floorRequest, err error) {
	err = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request)
	return request, err
}

package http

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// responder is what a request is answered with.
type responder interface {
	// respond writes the whole answer. An error before the first byte becomes a problem; later it breaks the connection off.
	respond(w http.ResponseWriter) error
}

// responderFunc is a function that writes the whole answer.
type responderFunc func(w http.ResponseWriter) error

func (f responderFunc) respond(w http.ResponseWriter) error { return f(w) }

// jsonResponse is a document with its status and its headers.
type jsonResponse struct {
	status  int
	headers map[string]string // without those that are empty
	body    any
}

func okJSON(body any) jsonResponse       { return jsonResponse{http.StatusOK, nil, body} }
func acceptedJSON(body any) jsonResponse { return jsonResponse{http.StatusAccepted, nil, body} }

func createdJSON(location string, body any) jsonResponse {
	return jsonResponse{http.StatusCreated, map[string]string{"Location": location}, body}
}

// with adds a header; an empty one is left out.
func (j jsonResponse) with(name, value string) jsonResponse {
	headers := map[string]string{name: value}
	for name, value := range j.headers {
		headers[name] = value
	}
	j.headers = headers
	return j
}

func (j jsonResponse) respond(w http.ResponseWriter) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(j.body); err != nil {
		return err
	}
	setHeaders(w, j.headers)
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(j.status)
	_, err := body.WriteTo(w)
	return err
}

// noContent is the answer 204.
type noContent map[string]string

func (n noContent) respond(w http.ResponseWriter) error {
	setHeaders(w, n)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func setHeaders(w http.ResponseWriter, headers map[string]string) {
	for name, value := range headers {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
}

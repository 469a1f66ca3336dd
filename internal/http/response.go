package http

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// responder is the response to a request.
type responder interface {
	// respond writes the whole response. An error before the first byte becomes a problem; a later one breaks the connection off.
	respond(w http.ResponseWriter) error
}

// responderFunc is a function that writes the whole response.
type responderFunc func(w http.ResponseWriter) error

func (f responderFunc) respond(w http.ResponseWriter) error { return f(w) }

// jsonResponse is a JSON body with its status and headers.
type jsonResponse struct {
	status  int
	headers map[string]string // empty ones are not sent
	body    any
}

func okJSON(body any) jsonResponse       { return jsonResponse{http.StatusOK, nil, body} }
func acceptedJSON(body any) jsonResponse { return jsonResponse{http.StatusAccepted, nil, body} }

func createdJSON(location string, body any) jsonResponse {
	return jsonResponse{http.StatusCreated, map[string]string{"Location": location}, body}
}

// with adds a header. An empty one is not sent.
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

// noContent is the response 204 with headers.
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

// mapped converts each element of a list. The result is never nil, so that it is [] in JSON and not null.
func mapped[S ~[]T, T, View any](list S, view func(T) View) []View {
	out := make([]View, len(list))
	for i, element := range list {
		out[i] = view(element)
	}
	return out
}

// listed returns an empty list for nil, for the same reason.
func listed[S ~[]T, T any](list S) S {
	if list == nil {
		return S{}
	}
	return list
}

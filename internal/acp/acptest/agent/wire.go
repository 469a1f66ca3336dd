package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

// object is a JSON object that is put together here.
type object map[string]any

// message is any line of JSON-RPC: a request, a notification, or an answer.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// failure is the error of an answer.
type failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (f *failure) Error() string { return fmt.Sprintf("error %d %s", f.Code, f.Message) }

func failed(code int, format string, values ...any) *failure {
	return &failure{Code: code, Message: fmt.Sprintf(format, values...)}
}

// The codes of JSON-RPC and of ACP that the agent uses by itself.
const (
	codeMethodNotFound   = -32601
	codeInvalidParams    = -32602
	codeInternal         = -32603
	codeAuthRequired     = -32000
	codeNotFound         = -32002
	codeRequestCancelled = -32800
)

// wire writes lines to the client, and finds who waits for an answer.
type wire struct {
	out  io.Writer
	line sync.Mutex // held while a line is written; held for ever by an agent that hangs

	mu      sync.Mutex
	next    int
	waiting map[string]chan message // by request id
}

func newWire(out io.Writer) *wire { return &wire{out: out, waiting: map[string]chan message{}} }

// write puts out one line, in one system call where the pipe takes it.
func (w *wire) write(line []byte) {
	w.line.Lock()
	defer w.line.Unlock()
	if _, err := w.out.Write(append(line, '\n')); err != nil {
		os.Exit(1) // the client is gone
	}
}

func (w *wire) send(m message) {
	m.JSONRPC = "2.0"
	w.write(mustJSON(m))
}

func (w *wire) notify(method string, params any) {
	w.send(message{Method: method, Params: mustJSON(params)})
}

func (w *wire) respond(id json.RawMessage, result any, fail *failure) {
	if fail != nil {
		w.send(message{ID: id, Error: fail})
		return
	}
	w.send(message{ID: id, Result: mustJSON(result)})
}

// request sends a request and returns its id, and where its answer will arrive.
func (w *wire) request(method string, params any) (id string, answer <-chan message) {
	waiting := make(chan message, 1)
	w.mu.Lock()
	id = strconv.Itoa(w.next)
	w.next++
	w.waiting[id] = waiting
	w.mu.Unlock()
	w.send(message{ID: json.RawMessage(id), Method: method, Params: mustJSON(params)})
	return id, waiting
}

// answered hands an answer to the one who waits for it.
func (w *wire) answered(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if waiting := w.waiting[string(m.ID)]; waiting != nil {
		waiting <- m
		delete(w.waiting, string(m.ID))
	}
}

// read calls handle with every line that is not empty until the input ends.
func read(in io.Reader, handle func(line []byte)) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			handle(line)
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
}

func mustJSON(v any) json.RawMessage {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: what a script brings as JSON was checked when it was read
	}
	return text
}

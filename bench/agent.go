package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// agentFigure has an external agent say what the model says elsewhere: a process that speaks ACP over its pipes. The hub reads the same
// lines of the same process, decodes each once and stores nothing.
func agentFigure() figure {
	return figure{
		name: "acp", about: "8 external agents at full speed, from their first chunk to their last", contenders: []string{hub, postgres, sqlite},
		measure: speaking(8, script{chunks: 20_000}),
		rows: []row{
			{key: "chunksPerSecond", title: "chunks per second, 8 external agents", more: true, reach: goals(0.5, 0.7)},
			{key: "cpu", title: "server CPU per 1,000 chunks, 8 external agents", unit: "ms", reach: both(1)},
		},
	}
}

// external asks for an execution whose agent is that process.
var external = object{"source": object{"type": "acp", "command": "bench"}}

// speaking measures agents that speak at the same time, and nothing of their start and their end: each says one chunk and waits; when all
// of these have come to their followers, the gate opens and the clock begins; it stops when all texts are there.
func speaking(agents int, s script) func(context.Context, place) (sample, error) {
	return func(ctx context.Context, at place) (_ sample, err error) {
		if err := at.warm(ctx, external); err != nil {
			return nil, err
		}
		gate, err := newGate(at.stage.folder)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, gate.remove()) }()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		running, ctx := errgroup.WithContext(ctx)
		first, last := make(chan struct{}, agents), make(chan struct{}, agents)
		s := script{chunks: max(100, s.chunks/at.scale), gate: gate.path}
		for range agents {
			counted := newTally(s)
			counted.first, counted.last = first, last
			running.Go(func() error { return at.alone(ctx, counted, external) })
		}
		var found sample
		running.Go(func() (err error) {
			found, err = at.between(ctx, agents*(s.chunks-1), gate, first, last)
			return err
		})
		return found, running.Wait()
	}
}

// between measures from the time when each agent has said its first chunk until each has said its last.
func (at place) between(ctx context.Context, chunks int, gate *gate, first, last <-chan struct{}) (sample, error) {
	if err := all(ctx, first); err != nil {
		return nil, err
	}
	before, err := ownTime(at.process.PID())
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := gate.open(); err != nil {
		return nil, err
	}
	if err := all(ctx, last); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	after, err := ownTime(at.process.PID())
	thousands := float64(chunks) / 1000
	return sample{"chunksPerSecond": float64(chunks) / took.Seconds(), "cpu": milliseconds(after-before) / thousands}, err
}

// all waits for as many signals as there is room for.
func all(ctx context.Context, signals <-chan struct{}) error {
	for range cap(signals) {
		select {
		case <-signals:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// gate is a named pipe that agents read from: they wait until the other end is closed.
type gate struct {
	path  string
	other *os.File
}

func newGate(folder string) (*gate, error) {
	g := &gate{path: filepath.Join(folder, "gate")}
	if err := syscall.Mkfifo(g.path, 0o600); err != nil {
		return nil, err
	}
	other, err := os.OpenFile(g.path, os.O_RDWR, 0) // for writing alone it would wait for a reader
	if err != nil {
		return nil, errors.Join(err, os.Remove(g.path))
	}
	g.other = other
	return g, nil
}

// open lets all pass who wait.
func (g *gate) open() error { return g.other.Close() }

func (g *gate) remove() error {
	_ = g.other.Close() // it is closed already, but where nothing was measured
	return os.Remove(g.path)
}

// serveAgent is that agent: it speaks as much of the Agent Client Protocol (JSON-RPC, a message a line) as it takes to be prompted, and says what
// the prompt's script wants, as fast as its pipe takes it.
func serveAgent(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 4<<20)
	w := bufio.NewWriterSize(out, 32<<10)
	for lines.Scan() {
		var asked agentRequest
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		if asked.ID == nil { // a notification
			continue
		}
		if err := asked.respond(w); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// agentRequest is what of a request is read.
type agentRequest struct {
	ID     json.RawMessage
	Method string
	Params struct {
		SessionID string
		Prompt    []struct{ Text string }
	}
}

func (r agentRequest) respond(w *bufio.Writer) error {
	result := `{}`
	switch r.Method {
	case "initialize":
		result = `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}`
	case "session/new":
		result = `{"sessionId":"bench"}`
	case "session/prompt":
		if err := r.notify(w); err != nil {
			return err
		}
		result = `{"stopReason":"end_turn"}`
	}
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
	return err
}

func (r agentRequest) notify(w *bufio.Writer) error {
	text := ""
	for _, block := range r.Params.Prompt {
		text += block.Text
	}
	s, err := parseScript(text)
	if err != nil {
		return err
	}
	gate, err := s.openGate()
	if err != nil {
		return err
	}
	defer gate.Close()
	for i := range s.chunks {
		if i == 1 {
			if err := errors.Join(w.Flush(), throughGate(gate)); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":`+
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@%d "}}}}`+"\n", r.Params.SessionID, time.Now().UnixNano())
		if err != nil {
			return err
		}
	}
	return nil
}

// openGate opens the gate that the agent waits at after its first chunk. It is opened before that chunk: behind it the gate may be gone.
func (s script) openGate() (io.ReadCloser, error) {
	if s.gate == "" {
		return io.NopCloser(strings.NewReader("")), nil
	}
	return os.Open(s.gate)
}

// throughGate waits until the gate opens.
func throughGate(gate io.Reader) error {
	_, err := io.Copy(io.Discard, gate)
	return err
}

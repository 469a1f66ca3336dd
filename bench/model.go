package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	modelBuffer = 32 << 10 // what the model gathers at full speed before it sends
	callCommand = "date +%s%N"
	callContent = "A line of a file that a tool writes.\n"
)

// serveModel serves OpenAI's chat completions. The answer is a pure function of the script in the last user message and of whether
// a tool has answered behind it.
func serveModel(ctx context.Context, stdout io.Writer) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", completeChat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"bench","object":"model"}]}`)
	})
	return listenAndServe(ctx, stdout, mux)
}

func completeChat(w http.ResponseWriter, r *http.Request) {
	var asked chatRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		refuseChat(w, err)
		return
	}
	s, answered, err := asked.script()
	if err != nil {
		refuseChat(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	a := newChatAnswer(w, s)
	if (s.call || s.write != "") && !answered {
		a.callTool(s)
		_ = a.end("tool_calls", 1) // the client has gone; there is nobody to tell, here and below
		return
	}
	if s.rate == 0 {
		err = a.rush(s.chunks)
	} else {
		err = a.pace(r.Context(), s)
	}
	if err == nil {
		_ = a.end("stop", s.chunks)
	}
}

func refuseChat(w http.ResponseWriter, err error) {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(body)
}

// chatRequest is what the model reads, and the hub writes, of a request.
type chatRequest struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// script finds the last user message, and whether a tool has answered since.
func (r chatRequest) script() (s script, answered bool, err error) {
	for _, message := range slices.Backward(r.Messages) {
		switch message.Role {
		case "user":
			s, err = parseScript(message.Content)
			return s, answered, err
		case "tool":
			answered = true
		}
	}
	return script{}, false, fmt.Errorf("none of %d messages is a user's", len(r.Messages))
}

// chatAnswer writes one answer. The model must never be what is measured, so a chunk is three appends and a look at the clock:
// what stands before and behind the stamp is made once.
type chatAnswer struct {
	w        http.ResponseWriter
	out      *http.ResponseController
	envelope string // how each chunk begins
	heads    [2]string
	tail     string
	pending  []byte
}

// newChatAnswer ends each text with a blank, as words end. A server that masks secrets must hold back a last letter with which one may begin
// until it has seen the next one, and that is a matter of the model's pace.
func newChatAnswer(w http.ResponseWriter, s script) *chatAnswer {
	envelope := fmt.Sprintf(`data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":%d,"model":"bench",`, time.Now().Unix())
	text := envelope + `"choices":[{"index":0,"delta":{"content":"@`
	thought := text
	if s.alternate {
		thought = envelope + `"choices":[{"index":0,"delta":{"reasoning_content":"@`
	}
	tail := strings.Repeat("x", s.bytes-leastBytes) + ` "},"finish_reason":null}]}` + "\n\n"
	size := len(thought) + stampDigits + len(tail)
	return &chatAnswer{
		w: w, out: http.NewResponseController(w), envelope: envelope, heads: [2]string{text, thought}, tail: tail,
		pending: make([]byte, 0, min(s.chunks*size, modelBuffer+size)),
	}
}

// rush sends whole buffers, as a model does that is far ahead of its reader.
func (a *chatAnswer) rush(chunks int) error {
	for i := range chunks {
		a.chunk(i)
		if len(a.pending) >= modelBuffer {
			if err := a.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pace sends each chunk at its time. Answers that were asked for in one moment begin spread over one interval: else all streams of
// a run would speak in the same millisecond and be silent in the next nineteen.
func (a *chatAnswer) pace(ctx context.Context, s script) error {
	times := timetable{rate: s.rate}
	times.start = time.Now().Add(rand.N(time.Second / time.Duration(s.rate)))
	timer := time.NewTimer(time.Until(times.at(0)))
	defer timer.Stop()
	for i := range s.chunks {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		a.chunk(i)
		if err := a.flush(); err != nil {
			return err
		}
		timer.Reset(time.Until(times.at(i + 1)))
	}
	return nil
}

// timetable tells when each chunk is due. All times count from the start, so that a late chunk makes no other late.
type timetable struct {
	start time.Time
	rate  int
}

func (t timetable) at(chunk int) time.Time {
	return t.start.Add(time.Duration(chunk) * time.Second / time.Duration(t.rate))
}

func (a *chatAnswer) chunk(i int) {
	a.pending = append(a.pending, a.heads[i%2]...)
	a.pending = strconv.AppendInt(a.pending, time.Now().UnixNano(), 10)
	a.pending = append(a.pending, a.tail...)
}

func (a *chatAnswer) callTool(s script) {
	name, wanted := "bash", map[string]string{"command": callCommand}
	if s.write != "" {
		name, wanted = "write", map[string]string{"path": s.write, "content": callContent}
	}
	arguments, _ := json.Marshal(wanted)
	a.write(fmt.Sprintf(`"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call-0",`+
		`"type":"function","function":{"name":%q,"arguments":%q}}]},"finish_reason":null}]`, name, arguments))
}

// end tells why the answer is over and what it cost.
func (a *chatAnswer) end(reason string, tokens int) error {
	a.write(fmt.Sprintf(`"choices":[{"index":0,"delta":{},"finish_reason":%q}]`, reason))
	a.write(fmt.Sprintf(`"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}`, tokens, tokens+10))
	a.pending = append(a.pending, "data: [DONE]\n\n"...)
	return a.flush()
}

func (a *chatAnswer) write(rest string) {
	a.pending = append(a.pending, a.envelope...)
	a.pending = append(a.pending, rest...)
	a.pending = append(a.pending, "}\n\n"...)
}

func (a *chatAnswer) flush() error {
	_, err := a.w.Write(a.pending)
	a.pending = a.pending[:0]
	if err != nil {
		return err
	}
	return a.out.Flush()
}

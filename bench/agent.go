package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// agentFigure has an external agent say what the model says elsewhere: a process that speaks ACP over its pipes.
func agentFigure() figure {
	acp := object{"source": object{"type": "acp", "command": "bench"}}
	return figure{
		name: "acp", about: "8 executions at full speed, each with an external agent's process", contenders: []string{postgres, sqlite},
		measure: func(ctx context.Context, at place) (sample, error) {
			s := script{chunks: 4000}
			external, err := streaming(8, s, 1, acp)(ctx, at)
			if err != nil {
				return nil, err
			}
			internal, err := streaming(8, s, 1)(ctx, at)
			if err != nil {
				return nil, err
			}
			return sample{
				"chunksPerSecond": external["chunksPerSecond"], "cpu": external["cpu"],
				"beside": external["chunksPerSecond"] / internal["chunksPerSecond"],
			}, nil
		},
		rows: []row{
			{key: "chunksPerSecond", title: "chunks per second of 8 external agents", more: true, plain: true},
			{key: "beside", title: "the same over those of the internal agent", more: true, plain: true},
			{key: "cpu", title: "server CPU per 1,000 chunks, external agents", unit: "ms", plain: true},
		},
	}
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
		if err := asked.answer(w); err != nil {
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

func (r agentRequest) answer(w io.Writer) error {
	result := `{}`
	switch r.Method {
	case "initialize":
		result = `{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}`
	case "session/new":
		result = `{"sessionId":"bench"}`
	case "session/prompt":
		if err := r.say(w); err != nil {
			return err
		}
		result = `{"stopReason":"end_turn"}`
	}
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
	return err
}

func (r agentRequest) say(w io.Writer) error {
	text := ""
	for _, block := range r.Params.Prompt {
		text += block.Text
	}
	s, err := parseScript(text)
	if err != nil {
		return err
	}
	for range s.chunks {
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":`+
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"@%d "}}}}`+"\n", r.Params.SessionID, time.Now().UnixNano())
		if err != nil {
			return err
		}
	}
	return nil
}

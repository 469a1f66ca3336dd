package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"signoff/internal/domain"
)

// agentTurn starts the external agent, prompts it, and writes its text into the log as it comes: without an SDK or a check, with one decoding of
// each line.
func agentTurn(ctx context.Context, log *hubLog, request hubRequest) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	requests, err := promptRequests(request.Prompt)
	if err != nil {
		return err
	}
	agent := exec.CommandContext(ctx, self, "agent")
	agent.Stdin = bytes.NewReader(requests)
	output, err := agent.StdoutPipe()
	if err != nil {
		return err
	}
	if err := agent.Start(); err != nil {
		return err
	}
	err = log.readAgent(output)
	return errors.Join(err, agent.Wait())
}

// promptID is that of the request whose answer ends the turn.
const promptID = 2

// promptRequests are all requests to the agent, which has one session with a known id.
func promptRequests(prompt string) ([]byte, error) {
	text, err := json.Marshal(prompt)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"bench","prompt":[{"type":"text","text":%s}]}}
`, promptID, text), nil
}

// agentLine is what the hub needs of a line.
type agentLine struct {
	ID     int `json:"id"`
	Params struct {
		Update struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
	} `json:"params"`
}

// readAgent writes what the agent says into the log, until its turn is over.
func (l *hubLog) readAgent(output io.Reader) error {
	message := hubText{kind: domain.MessageDeltaType, id: l.execution}
	lines := bufio.NewReaderSize(output, 32<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		var said agentLine
		if err := json.Unmarshal(line, &said); err != nil {
			return err
		}
		if said.ID == promptID {
			return nil
		}
		l.addText(&message, said.Params.Update.Content.Text)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"signoff/internal/domain"
)

// hubRequest is what the hub reads of a request for an execution.
type hubRequest struct {
	Prompt string
	Source struct{ Type string }
}

// hubTurns is what all executions need.
type hubTurns struct {
	model     modelClient
	child     child // runs an approved command
	approvals *hubApprovals
}

// run drives an execution to its end. It is the execution's only goroutine, also while it waits for a person.
func (h hubTurns) run(ctx context.Context, log *hubLog, request hubRequest) {
	turn := h.turn
	if request.Source.Type == "acp" {
		turn = agentTurn
	}
	if err := turn(ctx, log, request.Prompt); err != nil {
		log.addPayload(domain.ExecutionFailedType, map[string]any{"message": err.Error()})
		return
	}
	log.addPayload(domain.ExecutionCompletedType, map[string]any{"finishReason": "endTurn"})
}

// turn asks the model until it calls for nothing more.
func (h hubTurns) turn(ctx context.Context, log *hubLog, prompt string) error {
	conversation := []chatMessage{{Role: "user", Content: prompt}}
	for {
		calls, err := h.readModel(ctx, log, conversation)
		if err != nil || len(calls) == 0 {
			return err
		}
		conversation = append(conversation, chatMessage{Role: "assistant", ToolCalls: calls})
		for _, call := range calls {
			output, err := h.carryOut(ctx, log, call)
			if err != nil {
				return err
			}
			conversation = append(conversation, chatMessage{Role: "tool", Content: output, ToolCallID: call.ID})
		}
	}
}

// chatChunk is what the hub needs of a chunk.
type chatChunk struct {
	Choices []struct {
		Delta struct {
			Content   string     `json:"content"`
			Reasoning string     `json:"reasoning_content"`
			ToolCalls []chatCall `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

// readModel writes one answer of the model into the log as it comes, and returns what it calls for.
func (h hubTurns) readModel(ctx context.Context, log *hubLog, conversation []chatMessage) (calls []chatCall, err error) {
	stream, err := h.model.ask(ctx, conversation)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	answer := fmt.Sprintf("%s-%d", log.execution, len(conversation))
	message := hubText{kind: domain.MessageDeltaType, id: answer}
	thought := hubText{kind: domain.ThoughtDeltaType, id: answer + "-thought"}
	lines := bufio.NewReaderSize(stream, 32<<10)
	for {
		data, err := nextData(lines)
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		var chunk chatChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return nil, err
		}
		for _, choice := range chunk.Choices {
			log.addText(&thought, choice.Delta.Reasoning)
			log.addText(&message, choice.Delta.Content)
			calls = append(calls, choice.Delta.ToolCalls...)
		}
	}
}

// nextData returns the data of the next line that has some, and io.EOF behind [DONE]. A stream that just stops was cut off.
func nextData(lines *bufio.Reader) ([]byte, error) {
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		data, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: "))
		if !found {
			continue
		}
		if string(data) != "[DONE]" {
			return data, nil
		}
		if _, err := io.Copy(io.Discard, lines); err != nil { // to the end, or the connection is lost
			return nil, err
		}
		return nil, io.EOF
	}
}

// carryOut asks a person, waits, and runs the command. The approval is open before its event shows it.
func (h hubTurns) carryOut(ctx context.Context, log *hubLog, call chatCall) (output string, err error) {
	var arguments struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil || call.Function.Name != "bash" {
		return "", errors.Join(errors.New("the model calls for something that is no command"), err)
	}
	id, decided := h.approvals.ask()
	log.addPayload(domain.ApprovalRequestedType, map[string]any{"approvalId": id, "toolCallId": call.ID, "arguments": arguments})
	select {
	case <-decided:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	printed, err := h.child(ctx, arguments.Command)
	if err != nil {
		return "", err
	}
	output = strings.TrimSpace(string(printed))
	log.addPayload(domain.ToolCallCompletedType, map[string]any{"toolCallId": call.ID, "output": output})
	return output, nil
}

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
	"path/filepath"
	"strings"

	"signoff/internal/domain"
)

// hubRequest is what the hub reads of a request for an execution.
type hubRequest struct {
	Prompt           string
	Source           struct{ Type string }
	Checkpoints      string
	WorkingDirectory string
}

// takesCheckpoints reports whether there are checkpoints of the folder.
func (r hubRequest) takesCheckpoints() bool {
	return r.Checkpoints == string(domain.CheckpointsRequired)
}

// hubTurns is what all executions need.
type hubTurns struct {
	model       modelClient
	child       child // runs an approved command
	approvals   *hubApprovals
	checkpoints *hubCheckpoints
}

// run drives an execution to its end. It is the execution's only goroutine, also while it waits for a person.
func (h hubTurns) run(ctx context.Context, log *hubLog, request hubRequest) {
	turn := h.turn
	if request.Source.Type == "acp" {
		turn = agentTurn
	}
	if err := turn(ctx, log, request); err != nil {
		log.addPayload(domain.ExecutionFailedType, map[string]any{"message": err.Error()})
		return
	}
	log.addPayload(domain.ExecutionCompletedType, map[string]any{"finishReason": "endTurn"})
}

// turn asks the model until it calls for nothing more.
func (h hubTurns) turn(ctx context.Context, log *hubLog, request hubRequest) error {
	if request.takesCheckpoints() {
		if err := h.checkpoint(ctx, request.WorkingDirectory); err != nil {
			return err
		}
		log.addCheckpoint()
	}
	conversation := []chatMessage{{Role: "user", Content: request.Prompt}}
	for {
		calls, err := h.readModel(ctx, log, conversation)
		if err != nil || len(calls) == 0 {
			return err
		}
		conversation = append(conversation, chatMessage{Role: "assistant", ToolCalls: calls})
		for _, call := range calls {
			output, err := h.carryOut(ctx, log, request, call)
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

// hubArguments are those of the two tools that the hub has.
type hubArguments struct {
	Command string `json:"command,omitempty"` // of bash
	Path    string `json:"path,omitempty"`    // of write
	Content string `json:"content,omitempty"`
}

// carryOut asks a person, waits, and runs the call. The approval is open before its event shows it.
func (h hubTurns) carryOut(ctx context.Context, log *hubLog, request hubRequest, call chatCall) (output string, err error) {
	var arguments hubArguments
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
		return "", err
	}
	id, decided := h.approvals.ask()
	log.addPayload(domain.ApprovalRequestedType, map[string]any{"approvalId": id, "toolCallId": call.ID, "arguments": arguments})
	select {
	case <-decided:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	switch call.Function.Name {
	case "bash":
		output, err = h.command(ctx, request, arguments.Command)
	case "write":
		err = os.WriteFile(filepath.Join(request.WorkingDirectory, arguments.Path), []byte(arguments.Content), 0o600)
	default:
		err = fmt.Errorf("the model calls for %q, which there is not", call.Function.Name)
	}
	if err != nil {
		return "", err
	}
	log.addPayload(domain.ToolCallCompletedType, map[string]any{"toolCallId": call.ID, "output": output})
	if arguments.Path == "" || !request.takesCheckpoints() {
		return output, nil
	}
	if err := h.checkpoint(ctx, filepath.Join(request.WorkingDirectory, arguments.Path)); err != nil {
		return "", err
	}
	log.addCheckpoint()
	return output, nil
}

// command runs a command, behind a checkpoint where the request wants one.
func (h hubTurns) command(ctx context.Context, request hubRequest, command string) (string, error) {
	if request.takesCheckpoints() {
		if err := h.checkpoint(ctx, request.WorkingDirectory); err != nil {
			return "", err
		}
	}
	printed, err := h.child(ctx, command)
	return strings.TrimSpace(string(printed)), err
}

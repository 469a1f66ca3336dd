package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// Bounds of the conversations of [Admission.conversations].
const (
	maxContextResult = 16 << 10 // bytes of one result of a tool: its beginning and its end
	contextCallBytes = 256      // that a call counts beside its arguments: many empty ones must not be free

	// A log is read in pages, since a long one does not fit into memory.
	logPageEvents = 1000
	logPageBytes  = 1 << 20
)

// boundedContext is the conversation that a child gets, with secrets masked and at most [MaxContext] bytes long. If it is too long, results of tools are
// left out, the oldest first.
func (a *Admission) boundedContext(earlier []domain.ContextMessage) ([]domain.ContextMessage, error) {
	messages, room := slices.Clone(earlier), MaxContext
	for i := range messages {
		m := &messages[i]
		m.Content = a.config.Masker.MaskString(m.Content)
		if m.Role == domain.RoleTool {
			m.Content = withoutMiddle(m.Content, maxContextResult)
		}
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for at := range m.ToolCalls {
			call := &m.ToolCalls[at]
			call.Arguments = a.config.Masker.JSON(call.Arguments)
			room -= contextCallBytes + len(call.Tool) + len(call.Arguments)
		}
		room -= len(m.Content)
	}
	for i := 0; i < len(messages) && room < 0; i++ {
		if m := &messages[i]; m.Role == domain.RoleTool && len(m.Content) > len(resultLeftOut) {
			room += len(m.Content) - len(resultLeftOut)
			m.Content = resultLeftOut
		}
	}
	if room < 0 {
		return nil, domain.Errorf(domain.CodeInvalidArguments, "This conversation is longer than %d bytes, so it cannot go along; ask without it.", MaxContext)
	}
	return messages, nil
}

// resultLeftOut takes the place of a result for which there is no room.
const resultLeftOut = "[This result is left out here: the conversations of the earlier executions are too long.]"

// contextSource is an execution whose conversation a request begins with.
type contextSource struct {
	execution domain.Execution
	calls     bool // with its tool calls and their results
}

// conversations are the messages of people and of agents in earlier executions. Where a source asks for them, the tool calls are among them, each with its
// result; the others come without: a call without its result would only be made again. States of answers stay behind: they may be another model's.
//
// At most [MaxContext] bytes are kept. Results of tools make room for what was said, the oldest first.
func (a *Admission) conversations(ctx context.Context, list []contextSource) (messages []domain.ContextMessage, err error) {
	r := &contextReader{room: MaxContext, executions: a.config.Executions}
	transcripts := make([]*domain.Transcript, len(list))
	for i, source := range list {
		if transcripts[i], err = r.read(ctx, source); err != nil {
			return nil, err
		}
	}
	for i, source := range list { // after all are read: a later one may have taken the room of an earlier one's results
		messages = slices.Concat(messages, brought(source.execution.Request), domain.ContextMessages(transcripts[i].Messages(), source.calls, &r.number))
	}
	return messages, nil
}

// brought are the messages with which a client has created an execution.
func brought(request domain.Request) (messages []domain.ContextMessage) {
	for _, m := range request.Messages {
		messages = append(messages, domain.ContextMessage{Role: m.Role, Content: m.Content})
	}
	if prompt := domain.Mentioned(request.Prompt, request.Parts); prompt != "" {
		messages = append(messages, domain.ContextMessage{Role: domain.RoleUser, Content: prompt})
	}
	return messages
}

// contextReader reads the logs of earlier executions.
type contextReader struct {
	executions Executions
	room       int             // bytes that are left
	results    []contextResult // that have not been left out, the oldest first
	leftOut    contextResult   // the newest that was left out
	number     int             // of calls so far
}

// contextResult is the result of a call.
type contextResult struct {
	execution  domain.ExecutionID
	transcript *domain.Transcript
	call       string
	size       int
}

// read reads one log.
func (r *contextReader) read(ctx context.Context, source contextSource) (*domain.Transcript, error) {
	transcript, id := domain.NewTranscript(), source.execution.ID
	for _, message := range brought(source.execution.Request) {
		if err := r.take(len(message.Content)); err != nil {
			return nil, err
		}
	}
	for after := int64(0); ; {
		page, err := r.executions.EventPage(ctx, id, after, logPageEvents, logPageBytes)
		if err != nil || len(page) == 0 {
			return transcript, err
		}
		after = page[len(page)-1].Seq
		for _, event := range page {
			if event, err = r.bounded(event, source.calls, transcript); err == nil && event.Type != "" {
				err = transcript.Apply(event)
			}
			if err != nil {
				return nil, err
			}
		}
	}
}

// bounded is as much of an event as the conversation needs, or no event.
func (r *contextReader) bounded(event domain.Event, calls bool, of *domain.Transcript) (domain.Event, error) {
	switch event.Type {
	case domain.TurnEndedType, domain.MessageCompletedType:
		return event, nil
	case domain.TurnStartedType, domain.MessageDeltaType, domain.ToolCallRequestedType:
	case domain.ToolCallStartedType, domain.ToolCallCompletedType:
		if !calls {
			return domain.Event{}, nil
		}
	default:
		return domain.Event{}, nil
	}
	payload, err := event.Payload()
	if err != nil {
		return event, err
	}
	switch p := payload.(type) {
	case domain.TurnStarted:
		return event, r.take(len(domain.Mentioned(p.Text, p.Parts)))
	case domain.MessageDelta:
		return event, r.take(len(p.Text))
	case domain.ToolCallRequested:
		if calls {
			return event, r.take(contextCallBytes + len(p.Tool) + len(p.Arguments))
		}
		p.Arguments = nil // only the message before the call counts
		return domain.NewEvent(event.Execution, p), nil
	case domain.ToolCallCompleted:
		p.Output, p.ModelOutput = withoutMiddle(p.ForModel(), maxContextResult), ""
		result := contextResult{event.Execution, of, p.ToolCallID, len(p.Output)}
		r.results = append(r.results, result)
		if err = r.take(result.size); r.leftOut == result {
			p.Output = resultLeftOut
		}
		return domain.NewEvent(event.Execution, p), err
	}
	return event, nil
}

// take takes room. Where there is none, the oldest results are left out.
func (r *contextReader) take(size int) error {
	r.room -= size
	for ; r.room < 0; r.results = r.results[1:] {
		if len(r.results) == 0 {
			return domain.Invalid("/contextFrom", "The conversations of these executions are longer than %d bytes.", MaxContext)
		}
		oldest := r.results[0]
		if oldest.size <= len(resultLeftOut) {
			continue
		}
		if err := oldest.leaveOut(); err != nil {
			return err
		}
		r.room += oldest.size - len(resultLeftOut)
		r.leftOut = oldest
	}
	return nil
}

func (c contextResult) leaveOut() error {
	return c.transcript.Apply(domain.NewEvent(c.execution, domain.ToolCallCompleted{ToolCallID: c.call, Output: resultLeftOut}))
}

// withoutMiddle is a text of at most so many bytes, and a note.
func withoutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	half := limit / 2
	return fmt.Sprintf("%s\n\n[… %d bytes of this result are left out here …]\n\n%s", strings.ToValidUTF8(text[:half], ""), len(text)-2*half,
		strings.ToValidUTF8(text[len(text)-half:], ""))
}

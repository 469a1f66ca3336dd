package sessions

import (
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// An execution with an outputSchema ends well only if its final answer fits the schema. Otherwise the session asks for the answer
// again, in a turn of its own: that works with every agent, whatever its provider makes of schemas.

// maxRepairs is how often the session asks for an answer again.
const maxRepairs = 2

// structured is the last answer as the value that the request asked for, and the reason why it does not fit; empty if it fits.
func (r *recorder) structured() (value json.RawMessage, wrong string) {
	fits, err := schema.Compile(r.execution.Request.OutputSchema)
	if err != nil { // the schema was compiled when the execution was created
		return nil, domain.FailureOf(err).Message
	}
	answer, _ := r.progress.Said.Last(true)
	if value, err = schema.Answer(answer); err != nil {
		return nil, domain.FailureOf(err).Message
	}
	var lines []string
	for _, detail := range fits.Check(value) {
		lines = append(lines, fmt.Sprintf("- %s: %s", detail.Pointer, detail.Message))
	}
	return value, strings.Join(lines, "\n")
}

// unfit is the reason why the last answer does not fit, if the execution would end well otherwise.
func (r *recorder) unfit(end outcome) string {
	if r.execution.Request.OutputSchema == nil || end.status != domain.StatusCompleted {
		return ""
	}
	_, wrong := r.structured()
	return wrong
}

// repair ends the turn and begins the one that asks again, in one change: no other prompt can come in between.
func (s *Session) repair(stop domain.StopReason, wrong string) state {
	if err := s.endOpen(); err != nil {
		return s.abandon(err)
	}
	d := s.closeTurn(outcome{stop: stop})
	text := "Your answer does not fit the schema that was asked for:\n\n" + wrong +
		"\n\nAnswer again with the one JSON value that fits, and nothing else."
	s.beginTurn(d, domain.TurnStarted{Turn: s.progress.Turn.Number + 1, Text: text, Repair: s.progress.Turn.Repair + 1})
	return s.enter(d)
}

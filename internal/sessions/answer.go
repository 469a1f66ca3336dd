package sessions

import (
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// An execution with an outputSchema ends well only where its final answer fits. An answer that does not is asked for again, in a
// turn of its own: that works with every agent, whatever its provider makes of schemas.

// maxRepairs is how often an answer is asked for again.
const maxRepairs = 2

// structured is the last answer as the value that was asked for, and what is wrong with it.
func (r *recorder) structured() (value json.RawMessage, wrong string) {
	fits, err := schema.Compile(r.execution.Request.OutputSchema)
	if err != nil { // it was compiled when the execution was created
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

// unfit is what is wrong with the last answer where an end is to be a good one.
func (r *recorder) unfit(end outcome) string {
	if r.execution.Request.OutputSchema == nil || end.status != domain.StatusCompleted {
		return ""
	}
	_, wrong := r.structured()
	return wrong
}

// repair ends the turn and begins the one that asks again, in one change: nobody can come in between.
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

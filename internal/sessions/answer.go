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

// answer is the last answer as a value, and what is wrong with it.
func (s *session) answer() (value json.RawMessage, wrong string) {
	fits, err := schema.Compile(s.execution.Request.OutputSchema)
	if err != nil { // it was compiled when the execution was created
		return nil, domain.FailureOf(err).Message
	}
	text, _ := s.said.last(true)
	if value, err = schema.Answer(text); err != nil {
		return nil, domain.FailureOf(err).Message
	}
	var lines []string
	for _, detail := range fits.Check(value) {
		lines = append(lines, fmt.Sprintf("- %s: %s", detail.Pointer, detail.Message))
	}
	return value, strings.Join(lines, "\n")
}

// checked holds the end of a turn against the outputSchema. again is what the agent is to be told where it may try once more.
func (s *session) checked(end outcome) (judged outcome, again string) {
	if s.execution.Request.OutputSchema == nil || end.status != domain.StatusCompleted || end.stop != domain.StopEndTurn {
		return end, ""
	}
	value, wrong := s.answer()
	s.structured = nil
	switch {
	case wrong == "":
		s.structured = value
		return end, ""
	case s.repairs < maxRepairs:
		return end, "Your answer does not fit the schema that was asked for:\n\n" + wrong +
			"\n\nAnswer again with the one JSON value that fits, and nothing else."
	}
	judged = failed(domain.Failure{
		Code: domain.CodeOutputInvalid, Message: "The final answer does not fit the outputSchema, also after it was asked for again.",
	})
	judged.stop = end.stop
	return judged, ""
}

// repair ends the turn and begins the one that asks again, in one change: nobody can come in between.
func (s *session) repair(stop domain.StopReason, text string) state {
	if err := s.releaseAll(); err != nil {
		return s.abandon(err)
	}
	if err := s.withdrawAll(); err != nil {
		return s.abandon(err)
	}
	d := &draft{progress: true}
	s.closeTexts(d)
	s.closeCalls(d)
	d.add(domain.TurnEnded{Turn: s.turn, Usage: s.usage.Since(s.began), StopReason: stop})
	repairs := s.repairs + 1
	s.beginTurn(d, domain.TurnStarted{Turn: s.turn + 1, Text: text, Repair: repairs})
	return s.enter(d)
}

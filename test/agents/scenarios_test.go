//go:build agents && linux

package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// conversation is a session with an agent, whoever drives it. Every wait has a limit, and fails the test at it.
type conversation interface {
	prompt(text string) // begins a turn
	shows(part string)  // waits until the answer of this turn contains part
	asks() question     // waits until the agent asks for a permission
	answer(q question, approve bool)
	cancel()    // the turn, and does not wait
	ends() turn // waits for it
	crash()     // kills the agent; the next prompt reaches a new process, in the same session
}

// question is what a person is shown.
type question struct {
	id    string
	about string // all that is known of the tool call, as JSON
}

// turn is what came of a prompt.
type turn struct {
	outcome        outcome
	text, thoughts string
	usage          bool
}

type outcome string

const (
	completed outcome = "completed"
	cancelled outcome = "cancelled"
	failed    outcome = "failed"
)

// The prompts and answers of fixtures.json.
const (
	plainPrompt, plainAnswer           = "answer plainly", "This is the plain answer."
	reasoningPrompt, reasoningAnswer   = "think it over", "Having thought, the answer is forty-two."
	thought                            = "Six times seven"
	commandPrompt, commandAnswer       = "run the command", "The command has been dealt with."
	slowPrompt, slowBegins, slowEnding = "tell it slowly", "Once upon a time", "the very end"
	followPrompt, followAnswer         = "carry on please", "Carried on."
	lookPrompt, lookAnswer             = "look at the file", "The file has been looked at."
	handedPrompt, handedAnswer         = "hand it on", "That is all of it."
	continuedPrompt, continuedAnswer   = "go on with the task", "It has been looked after."
	changePrompt, changeAnswer         = "change the files", "The files have been changed."
)

// written is the file that the command of commandPrompt makes in the working folder.
const written = "approved.txt"

// stage is where a scenario plays.
type stage struct {
	*testing.T
	home
	conversation
	mock mock
}

type scenario struct {
	name    string
	play    func(s stage)
	tempted bool // the working folder holds the agent's temptation
}

var scenarios = slices.Concat(askingScenarios, brokenScenarios)

// askingScenarios are turns that come to their end.
var askingScenarios = []scenario{
	{name: "answers", play: func(s stage) {
		s.prompt(plainPrompt)
		end := s.ends()
		s.expect(end, completed, plainAnswer)
		if s.quirks.usage && !end.usage {
			s.Error("nothing was said about usage")
		}
		s.prompt(followPrompt)
		s.expect(s.ends(), completed, followAnswer)
		s.remembers(plainPrompt)
	}},
	{name: "thinks", play: func(s stage) {
		s.prompt(reasoningPrompt)
		end := s.ends()
		s.expect(end, completed, reasoningAnswer)
		if !strings.Contains(end.thoughts, thought) || strings.Contains(end.text, thought) {
			s.Errorf("thoughts %q beside the text %q", end.thoughts, end.text)
		}
	}},
	{name: "acts when approved", play: func(s stage) {
		s.prompt(commandPrompt)
		q := s.asks()
		if !strings.Contains(q.about, written) {
			s.Errorf("a person could not know what is asked: %s", q.about)
		}
		s.nothingWritten()
		s.answer(q, true)
		s.expect(s.ends(), completed, commandAnswer)
		if _, err := os.Stat(filepath.Join(s.workspace, written)); err != nil {
			s.Errorf("the approved command has not run: %v", err)
		}
	}},
	{name: "does not act when denied", play: func(s stage) {
		s.prompt(commandPrompt)
		s.answer(s.asks(), false)
		end := s.ends()
		switch {
		case s.quirks.cancelledByDenial:
			s.expect(end, cancelled, "")
		case s.quirks.silentAfterDenial:
			s.expect(end, completed, "")
		default:
			s.expect(end, completed, commandAnswer)
		}
		s.nothingWritten()
		s.prompt(followPrompt)
		s.expect(s.ends(), completed, followAnswer)
	}},
	{name: "asks although the repository says that it need not", tempted: true, play: func(s stage) {
		s.prompt(commandPrompt)
		if s.quirks.obeysRepository { // that an agent has got better should not pass unnoticed
			s.expect(s.ends(), completed, commandAnswer)
			return
		}
		s.answer(s.asks(), false)
		s.ends()
		s.nothingWritten()
	}},
}

// brokenScenarios are turns and processes that are ended in the middle.
var brokenScenarios = []scenario{
	{name: "is cancelled in the middle of an answer", play: func(s stage) {
		s.prompt(plainPrompt) // there is an agent that forgets a session whose only turn was cancelled
		s.ends()
		s.prompt(slowPrompt)
		s.shows(slowBegins)
		s.cancel()
		end := s.ends()
		s.expect(end, cancelled, slowBegins)
		if strings.Contains(end.text, slowEnding) {
			s.Error("the answer was not broken off")
		}
		s.prompt(followPrompt)
		s.expect(s.ends(), completed, followAnswer)
		s.remembers(plainPrompt)
	}},
	{name: "is cancelled while it asks", play: func(s stage) {
		s.prompt(plainPrompt)
		s.ends()
		s.prompt(commandPrompt)
		s.asks()
		s.cancel()
		s.expect(s.ends(), cancelled, "")
		s.nothingWritten()
		s.prompt(followPrompt)
		s.expect(s.ends(), completed, followAnswer)
	}},
	{name: "goes on after a crash", play: func(s stage) {
		s.prompt(plainPrompt)
		s.expect(s.ends(), completed, plainAnswer)
		s.prompt(slowPrompt)
		s.shows(slowBegins)
		s.crash()
		s.prompt(followPrompt)
		s.expect(s.ends(), completed, followAnswer)
		s.remembers(plainPrompt)
	}},
}

// subagentScenarios are for agents that have subagents of their own.
var subagentScenarios = []scenario{
	{name: "shows what its subagent does below it", play: func(s stage) {
		s.prompt(handedPrompt)
		q := s.asks()
		if s.quirks.asksToHandOn {
			s.answer(q, true)
			q = s.asks()
		}
		if !strings.Contains(q.about, written) {
			s.Errorf("a person could not know what is asked: %s", q.about)
		}
		s.nothingWritten()
		s.answer(q, true)
		s.expect(s.ends(), completed, handedAnswer)
		if _, err := os.Stat(filepath.Join(s.workspace, written)); err != nil {
			s.Errorf("the approved command has not run: %v", err)
		}
		s.hosted().below(s.quirks.subagents)
	}},
}

// childlessScenarios are for OpenCode, which drops what its subagents ask: it is to make none, and nothing is to wait for one.
var childlessScenarios = []scenario{
	{name: "makes no subagent", play: func(s stage) {
		s.prompt(handedPrompt)
		s.expect(s.ends(), completed, handedAnswer)
	}},
	{name: "makes no subagent by a command", play: func(s stage) {
		s.prompt("/review " + commandPrompt)
		s.answer(s.asks(), true)
		s.expect(s.ends(), completed, commandAnswer)
	}},
}

// hostedScenarios are about what an agent does not know of.
var hostedScenarios = []scenario{
	{name: "is interrupted by a further prompt", play: func(s stage) {
		s.prompt(slowPrompt)
		s.shows(slowBegins)
		s.hosted().further(followPrompt, "interrupt")
		s.expect(s.ends(), completed, followAnswer)
		s.prompt(commandPrompt)
		s.asks()
		s.hosted().further(followPrompt, "interrupt")
		s.expect(s.ends(), completed, followAnswer)
		s.nothingWritten()
		for _, n := range []int{1, 3} {
			s.expect(s.hosted().now().numbered(n).turn, cancelled, "")
		}
	}},
	{name: "goes on after it was lost between two turns", play: func(s stage) {
		s.prompt(plainPrompt)
		s.expect(s.ends(), completed, plainAnswer)
		for _, loss := range []func(){
			s.hosted().killAgent,
			func() { s.hosted().restart(s.hosted().server.stop) },
			func() { s.hosted().restart(s.hosted().server.kill) },
		} {
			s.mock.forget(s.T)
			loss()
			s.hosted().nothingLeft(time.Now())
			s.prompt(followPrompt)
			s.expect(s.ends(), completed, followAnswer)
			s.remembers(plainPrompt)
		}
	}},
	{name: "goes on with a turn that the server was killed in", play: func(s stage) {
		s.prompt(plainPrompt)
		s.expect(s.ends(), completed, plainAnswer)
		s.prompt(slowPrompt)
		s.shows(slowBegins)
		s.hosted().restart(s.hosted().server.kill)
		s.shows(continuedAnswer)
		s.expect(s.ends(), completed, slowBegins)
		s.remembersBefore(continuedPrompt, plainPrompt)
	}},
}

// aboutSubagents are the scenarios that the agent has besides the others.
func (a agent) aboutSubagents() []scenario {
	switch {
	case a.name == "opencode":
		return childlessScenarios
	case a.quirks.subagents != "":
		return subagentScenarios
	default:
		return nil
	}
}

// hosted is the conversation where Signoff holds it.
func (s stage) hosted() *hosted { return s.conversation.(*hosted) }

func (s stage) expect(end turn, want outcome, text string) {
	s.Helper()
	if end.outcome != want || !strings.Contains(end.text, text) {
		s.Fatalf("the turn is %s, not %s, with the text %q, not %q", end.outcome, want, end.text, text)
	}
}

func (s stage) nothingWritten() {
	s.Helper()
	if _, err := os.Stat(filepath.Join(s.workspace, written)); err == nil {
		s.Fatal("the command has run without an approval")
	}
}

// remembers tells by what the model was sent that the agent knows what was said before followPrompt.
func (s stage) remembers(earlier string) {
	s.Helper()
	s.remembersBefore(followPrompt, earlier)
}

func (s stage) remembersBefore(prompt, earlier string) {
	s.Helper()
	asked := s.mock.asked(s.T)
	for _, request := range asked {
		if strings.Contains(request, prompt) && strings.Contains(request, earlier) {
			return
		}
	}
	s.Errorf("none of %d requests to the model has %q before %q: the agent has forgotten", len(asked), earlier, prompt)
}

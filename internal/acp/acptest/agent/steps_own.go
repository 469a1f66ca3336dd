package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var ownSteps = []verb{
	{"file", "PATH [TEXT]", "write a file without the client's help, relative to the session's cwd; says `file=ok`", ownFile},
	{"shell", "TEXT", "run a shell command in the session's cwd, without the client's help; says `shell=OUTPUT`", shell},
	{"stderr", "TEXT", "a line on stderr", func(_ *turn, a args) error {
		_, err := os.Stderr.WriteString(a.text + "\n")
		return err
	}},
}

func (t *turn) cwd() string {
	if t.session == nil {
		return ""
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return t.session.facts.Cwd
}

func ownFile(t *turn, a args) error {
	path := a.words[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.cwd(), path)
	}
	return t.outcome("file", "ok", os.WriteFile(path, []byte(a.text), 0o600)) //nolint:gosec // the test says where
}

// shell lets the command run on when the turn is cancelled, as some agents do.
func shell(t *turn, a args) error {
	command := exec.Command("sh", "-c", a.text)
	command.Dir = t.cwd()
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return t.tell("shell", strings.TrimSpace(string(output)), exit.Error())
	}
	return t.outcome("shell", strings.TrimSpace(string(output)), err)
}

// identity is what whoami says.
type identity struct {
	sessionFacts
	clientFacts
	SessionID  string   `json:"sessionId"`
	ProcessCwd string   `json:"processCwd"`
	Arguments  []string `json:"argv"`
	Variables  []string `json:"env"` // names only
	PID        int      `json:"pid"`
	ParentPID  int      `json:"ppid"`
}

func whoami(t *turn, _ args) error {
	if t.session == nil {
		return errors.New("there is no session yet")
	}
	t.session.mu.Lock()
	i := identity{sessionFacts: t.session.facts, SessionID: t.session.id, Arguments: os.Args[1:], PID: os.Getpid(), ParentPID: os.Getppid()}
	t.session.mu.Unlock()
	t.agent.mu.Lock()
	i.clientFacts = t.agent.client
	t.agent.mu.Unlock()
	i.ProcessCwd, _ = os.Getwd() // a folder that is gone has no name
	for _, variable := range (&exec.Cmd{}).Environ() {
		name, _, _ := strings.Cut(variable, "=")
		i.Variables = append(i.Variables, name)
	}
	slices.Sort(i.Variables)
	return t.say(string(mustJSON(i)))
}

var flowSteps = []verb{
	{"late", "MS STEP", "a step after the turn's answer, so many milliseconds later", late},
	{"once", "PATH STEP", "a step that is taken only if this file is not there yet; it makes the file", once},
}

func late(t *turn, a args) error {
	ms, err := a.number(0, 0)
	if err != nil {
		return err
	}
	t.late = append(t.late, func() {
		after := t.agent.newTurn("late", message{})
		after.session = t.session
		time.Sleep(time.Duration(ms) * time.Millisecond)
		if err := a.step.run(after); err != nil {
			fmt.Fprintln(os.Stderr, "late:", err)
		}
	})
	return nil
}

func once(t *turn, a args) error {
	file, err := os.OpenFile(a.words[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return a.step.run(t)
}

var endSteps = []verb{
	{"stop", "REASON", "end the turn with this stopReason", func(t *turn, a args) error {
		t.reason = a.words[0]
		return errEnded
	}},
	{"fail", "CODE MESSAGE [JSON]", "end the turn with an error, perhaps with data", fail},
	{"result", "JSON", "fields to merge into the answer, such as usage or _meta", func(t *turn, a args) error {
		var fields object
		if err := json.Unmarshal([]byte(a.words[0]), &fields); err != nil {
			return err
		}
		merge(t.result, fields)
		return nil
	}},
}

func fail(_ *turn, a args) error {
	f := &failure{Message: a.words[1]}
	if err := json.Unmarshal([]byte(a.words[0]), &f.Code); err != nil {
		return err
	}
	if len(a.words) > 2 {
		data, err := a.json(2, "")
		if err != nil {
			return err
		}
		f.Data = data
	}
	return f
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

var ownSteps = []verb{
	{"file", "PATH [TEXT]", ownFile},
	{"shell", "TEXT", shell},
	{"stderr", "TEXT", func(_ *turn, a args) error {
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
	i := identity{sessionFacts: t.session.facts, SessionID: t.session.id}
	t.session.mu.Unlock()
	i.Arguments, i.PID, i.ParentPID = os.Args[1:], os.Getpid(), os.Getppid()
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

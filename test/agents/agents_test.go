//go:build agents && linux

package agents

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if err := inheritOrphans(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests could not find again what agents leave behind:", err)
		os.Exit(1)
	}
	os.Exit(built(m))
}

func built(m *testing.M) int {
	folder, err := os.MkdirTemp("", "signoff-agents-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := buildServer(folder); err != nil {
		fmt.Fprintln(os.Stderr, "cannot build the server:", err)
		return 1
	}
	return m.Run()
}

// TestSignoff drives the agents through the server's binary. An agent that has its code from another one in the table only answers, asks and hands work on;
// with FORM=long it plays all scenarios, which takes minutes more.
func TestSignoff(t *testing.T) {
	model := startMock(t)
	for _, a := range table {
		t.Run(a.name, func(t *testing.T) {
			h := newHome(t, a, model.base)
			s := newServer(t, h)
			plays := slices.Concat(scenarios, hostedScenarios)
			if a.kin != "" && os.Getenv("FORM") != "long" {
				plays = askingScenarios
			}
			for _, scenario := range slices.Concat(plays, a.aboutSubagents()) {
				t.Run(scenario.name, func(t *testing.T) {
					h.set(t, scenario)
					model.forget(t)
					driver := host(t, h, s)
					scenario.play(stage{T: t, home: h, conversation: driver, mock: model})
					driver.close()
				})
			}
			s.t = t
		})
	}
}

// TestSignInWithAKey: Codex wants to be told that it is to take the key which it has been given.
func TestSignInWithAKey(t *testing.T) {
	model := startMock(t)
	for _, a := range table {
		if a.builtin() != "codex" {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			a.files = map[string]string{".codex/config.toml": codexOwnConfig}
			h := newHome(t, a, model.base)
			driver := host(t, h, newServer(t, h))
			driver.prompt(plainPrompt)
			if end := driver.ends(); !strings.Contains(end.text, plainAnswer) {
				t.Errorf("the answer is %q", end.text)
			}
			driver.close()
		})
	}
}

// TestRaw shows that agents, fixtures and table are what the scenarios take them for, without Signoff. `make test-agents` leaves it out:
// it shows whether an agent has changed where TestSignoff fails.
func TestRaw(t *testing.T) {
	model := startMock(t)
	for _, a := range table {
		t.Run(a.name, func(t *testing.T) {
			h := newHome(t, a, model.base)
			for _, scenario := range scenarios {
				t.Run(scenario.name, func(t *testing.T) {
					h.set(t, scenario)
					model.forget(t)
					scenario.play(stage{T: t, home: h, conversation: dial(t, h), mock: model})
				})
			}
		})
	}
}

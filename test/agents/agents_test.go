//go:build agents && linux

package agents

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := inheritOrphans(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests could not find again what agents leave behind:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestRaw shows that agents, fixtures and table are what the scenarios take them for, without Signoff.
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

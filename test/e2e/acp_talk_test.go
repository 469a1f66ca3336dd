package e2e

import (
	"testing"
)

func TestAgentsTalk(t *testing.T) {
	onBoth(t, func(t *testing.T, e engine) {
		h := openHouse(t, e, map[string]object{"scripted": {}})
		t.Run("text", func(t *testing.T) {
			t.Parallel()
			v := h.visit(t, "scripted")
			end, log := v.complete("say Hello", "whoami")
			t.Log(end.Output.Text, whoamis(t, log))
		})
	})
}

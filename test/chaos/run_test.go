//go:build linux

package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

func TestRunThatBreaksOffEndsAllItsParts(t *testing.T) {
	r := newRun(t.Context(), &stage{}, block{name: "test", run: func(r *run) {
		r.sideBySide(
			func() { r.must(errors.New("no server")) },
			func() { <-r.ctx.Done(); r.violate("what fails for that alone") },
		)
		t.Error("the block went on")
	}}, 1, 1)
	if line := r.play(); len(line.Violations) != 1 || !strings.Contains(line.Violations[0], "broke off: no server") || line.well() {
		t.Errorf("%q", line.Violations)
	}
}

func TestRunThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(t.Context(), &stage{}, block{name: "test", run: func(r *run) { <-r.ctx.Done() }}, 1, 1)
		if line := r.play(); len(line.Violations) != 1 || !strings.Contains(line.Violations[0], "not come to its end") {
			t.Errorf("%q", line.Violations)
		}
	})
}

func TestServerThatNeverAnswersEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRun(t.Context(), &stage{}, block{name: "test"}, 1, 1)
		r.block.run = func(r *run) {
			w := &world{run: r, servers: []*server{{run: r, base: "http://127.0.0.1:1"}}}
			w.insist(r.ctx, &r.dice, http.MethodGet, "/executions", nil)
		}
		if line := r.play(); len(line.Violations) != 1 || !strings.Contains(line.Violations[0], "nobody has answered GET /executions") {
			t.Errorf("%q", line.Violations)
		}
	})
}

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/store/storetest"
)

// before is the last commit whose schema was version 4, the floor of the schema of today.
const before = "aba2fd512526e133efcc90a05d8d50eeef3f0184"

// older builds the server of an earlier commit. Without the history of the repository there is none to build.
func older(t *testing.T, commit string) (path string) {
	t.Helper()
	if _, err := in(".", "git", "cat-file", "-e", commit+"^{commit}"); err != nil {
		t.Skipf("NOT TESTED, the binary of %.7s cannot be built in this clone: %v", commit, err)
	}
	folder := t.TempDir()
	tree := filepath.Join(folder, "tree")
	must(t, os.Mkdir(tree, 0o755))
	// An archive, and no worktree: of that something would be left in the clone of whoever runs this.
	_, err := in("../..", "git", "archive", "-o", filepath.Join(folder, "tree.tar"), commit, "go.mod", "go.sum", "api", "cmd", "internal", "migrations")
	must(t, err)
	_, err = in(folder, "tar", "-xf", "tree.tar", "-C", "tree")
	must(t, err)
	path = filepath.Join(folder, "signoff")
	build := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-buildvcs=false", "-o", path}, raceFlags...)
	_, err = in(tree, "go", append(build, "./cmd/server")...) // cached wherever the tree lies
	must(t, err)
	return path
}

// in runs a program in a folder. What it printed is in the error, too.
func in(folder, program string, args ...string) (string, error) {
	command := exec.Command(program, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// TestRollingUpgrade runs the binary of the schema's floor beside that of today on one database. The new one migrates under
// the old one; both serve and drive, are killed in turns, and what either left goes on: to one end each, under followers that
// see every event once.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	m := newModel(t, func(a *answer, conversation []message) {
		if n := strings.Count(fmt.Sprint(conversation), "effect-"); n < 2 {
			a.Bash("sleep 0.1; echo effect-; echo x >> ledger.txt")
			return
		}
		a.Say("done")
	})
	e := engine{url: storetest.Postgres(t)} // the earlier version migrates it
	first := newServer(t, e, m, shortLease)
	first.binary = older(t, before)
	first.dropSettings()
	first.env = slices.DeleteFunc(first.env, func(set string) bool { return strings.HasPrefix(set, "SIGNOFF_PARK_SECONDS=") }) // unknown to it
	first.start()
	early := []string{first.create().ID, first.create().ID}
	first.asked(early[0], 1)

	second := newServer(t, e, m, shortLease, "SIGNOFF_WORKSPACE_ROOT="+first.workspace, "SIGNOFF_PARK_SECONDS=1")
	second.Token = first.Token
	second.start()
	third := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace, "SIGNOFF_PARK_SECONDS=1")
	third.Token = first.Token
	third.start()

	ids := early
	for range 3 {
		ids = append(ids, first.create().ID, second.create().ID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), scenario)
	defer cancel()
	logs := third.followAll(ctx, ids)

	half := func(s *server) { // of what is asked is decided by s
		for i, id := range ids {
			if i%2 == 0 {
				s.approveAll(id)
			}
		}
	}
	for _, id := range ids {
		third.asked(id, 1)
	}
	half(first) // the old one's word wakes what the new ones have parked
	second.die()
	half(third)
	second.start()
	first.die()
	for _, id := range ids {
		third.eventually("the end", func() bool {
			second.approveAll(id)
			return third.get(id).Status == "completed"
		})
	}
	for i, log := range logs() {
		if all := third.sound(ids[i]); !equal(log, all) {
			t.Errorf("a follower of %s saw %d of %d events", ids[i], len(log), len(all))
		}
	}
	_, errOut, code := first.command("migrate")
	if code != 1 || !strings.Contains(errOut, "start the newer one") {
		t.Errorf("the old one started again: exit %d: %s", code, errOut)
	}
}

// followAll follows executions to their ends, also over the ends of connections, and returns what was seen of each.
func (s *server) followAll(ctx context.Context, ids []string) func() [][]wireEvent {
	logs := make([][]wireEvent, len(ids))
	var following sync.WaitGroup
	for i, id := range ids {
		following.Go(func() {
			for over := false; !over && ctx.Err() == nil; {
				over, _ = s.follow(ctx, id, int64(len(logs[i])), func(e wireEvent) bool {
					if e.Seq != int64(len(logs[i]))+1 {
						s.t.Errorf("%s: event %d comes after %d", id, e.Seq, len(logs[i]))
					}
					logs[i] = append(logs[i], e)
					return true
				})
			}
		})
	}
	return func() [][]wireEvent { following.Wait(); return logs }
}

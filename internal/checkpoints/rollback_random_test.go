package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"signoff/internal/domain"
	"signoff/internal/workspace"
	"signoff/internal/workspace/checkpoint"
	"signoff/internal/workspace/checkpoint/checkpointtest"
)

// folder is a workspace in which executions and a person write.
type folder struct {
	t       *rapid.T
	path    string
	service *Service
	writes  atomic.Int64 // of the person: whoever looks sees that there were some
	git     checkpointtest.Git
}

func newFolder(t *testing.T, rt *rapid.T) *folder {
	t.Helper()
	at, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	f := &folder{t: rt, path: filepath.Join(at, "workspace")}
	if err := os.Mkdir(f.path, 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := checkpoint.NewStore(&f.git, filepath.Join(at, "repositories"), checkpoint.DefaultBounds)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.New(f.path)
	if err != nil {
		t.Fatal(err)
	}
	f.service = New(Config{Store: store, Place: files.Place, Observe: func(string, ...string) (func() bool, error) {
		before := f.writes.Load()
		return func() bool { return f.writes.Load() != before }, nil
	}})
	return f
}

// names are the files of the folder.
var names = []string{"a", "b", "c", "d"}

// change does one random thing to one of a few files, and returns its path; empty: nothing was to be done.
func (f *folder) change(who string) string {
	name := rapid.SampledFrom(names).Draw(f.t, who+" path")
	path := filepath.Join(f.path, name)
	switch rapid.IntRange(0, 4).Draw(f.t, who+" kind") {
	case 0:
		if os.Remove(path) != nil {
			return ""
		}
	case 1:
		info, err := os.Stat(path)
		mode := fs.FileMode(rapid.SampledFrom([]int{0o600, 0o644, 0o755}).Draw(f.t, who+" mode"))
		if err != nil || info.Mode() == mode || os.Chmod(path, mode) != nil {
			return ""
		}
	default:
		content := fmt.Sprintf("%s %d\n", who, rapid.IntRange(0, 9).Draw(f.t, who+" content"))
		if present, err := os.ReadFile(path); err == nil && string(present) == content {
			return ""
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	return name
}

// disk returns the files of the folder, by name.
func (f *folder) disk() map[string]string {
	all := map[string]string{}
	for _, name := range names {
		path := filepath.Join(f.path, name)
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			f.t.Fatal(err)
		}
		all[name] = info.Mode().String() + " " + string(content)
	}
	return all
}

// agent is an execution that writes in the folder.
type agent struct {
	*Keeper
	*folder
	name  string
	log   []domain.CheckpointCreated
	calls []*running
	count int
}

// running is a call that runs.
type running struct {
	id      string
	changed []string
	beside  bool // somebody else wrote in the folder meanwhile, or could
}

func (f *folder) agent(name string) *agent {
	a := &agent{folder: f, name: name}
	a.Keeper = f.service.Keep(Execution{ID: domain.ExecutionID(name), Mode: domain.CheckpointsRequired, Folders: []string{f.path}},
		func(_ context.Context, event domain.CheckpointCreated) error {
			if event.Status != domain.CheckpointTaken {
				f.t.Errorf("%s: %+v", name, event.Error)
			}
			event.Checkpoint = len(a.log) + 1
			a.log = append(a.log, event)
			return nil
		})
	return a
}

func (a *agent) must(err error) {
	if err != nil {
		a.t.Fatalf("%s: %v", a.name, err)
	}
}

// settle waits until all requested checkpoints are taken.
func (a *agent) settle() {
	_, err := a.awaitAll(context.Background(), &request{kind: beginTurn})
	a.must(err)
}

// later waits until the times of files tell later writes from earlier ones.
func (f *folder) later() {
	probe := f.path + ".probe"
	for begun := time.Now(); ; {
		if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
			f.t.Fatal(err)
		}
		if info, err := os.Stat(probe); err != nil || info.ModTime().After(begun) {
			return
		}
	}
}

// history records who has changed each path since each checkpoint of an agent.
type history struct {
	own, foreign, uncertain map[string]bool
	either                  map[string]bool // others have changed it and changed it back, to the moment or to the last checkpoint: nobody can see that, or an earlier checkpoint has
	held                    map[string]string
	number                  int
}

func (f *folder) moment(number int) *history {
	return &history{own: map[string]bool{}, foreign: map[string]bool{}, uncertain: map[string]bool{}, either: map[string]bool{}, held: f.disk(), number: number}
}

// TestARollbackKeepsWhatOthersWrote: two executions and a person write in one folder, in any order, also while commands run. Then an execution goes back to one of its
// checkpoints. A path that others have changed since, or may have changed, is as it was before the rollback. A path that only the execution has changed is as the
// checkpoint has it, in bytes and mode. Another rollback takes the rollback back.
func TestARollbackKeepsWhatOthersWrote(t *testing.T) {
	checks(t, "50")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		ctx := t.Context()
		for range rapid.IntRange(0, 3).Draw(rt, "before") {
			f.change("before")
		}
		agents := []*agent{f.agent("e1"), f.agent("e2")}
		for _, a := range agents {
			defer a.Close()
			a.must(a.BeginTurn(ctx))
			a.settle()
		}
		one := agents[0]
		moments := []*history{f.moment(1)}
		seen := f.disk() // by the last checkpoint of one
		note := func(in func(*history) map[string]bool, paths ...string) {
			for _, moment := range moments {
				for _, path := range paths {
					if path != "" {
						in(moment)[path] = true
						isBack := !moment.own[path] && f.disk()[path] == moment.held[path] || moment.foreign[path] && f.disk()[path] == seen[path]
						moment.either[path] = moment.either[path] || isBack
					}
				}
			}
		}
		look := func(a *agent, paths ...string) {
			if a != one {
				return
			}
			for _, path := range names {
				if len(paths) == 0 || slices.Contains(paths, path) {
					seen[path] = f.disk()[path]
				}
			}
		}
		beside := func(but *agent) {
			for _, a := range agents {
				for _, call := range a.calls {
					call.beside = call.beside || a != but
				}
			}
		}
		// found is what a checkpoint of an agent has found at some paths, beside its calls.
		found := func(a *agent, paths ...string) {
			mark := func(h *history) map[string]bool { return h.own }
			switch {
			case a != one:
				mark = func(h *history) map[string]bool { return h.foreign }
			case slices.ContainsFunc(a.calls, func(call *running) bool { return call.beside }):
				mark = func(h *history) map[string]bool { return h.uncertain }
			}
			for _, call := range a.calls {
				call.changed = slices.DeleteFunc(call.changed, func(path string) bool {
					looked := len(paths) == 0 || slices.Contains(paths, path)
					if looked {
						note(mark, path)
					}
					return looked
				})
			}
			look(a, paths...)
		}
		end := func(a *agent, call *running) {
			a.must(a.AfterCall(ctx, call.id))
			a.settle()
			found(a)
			a.calls = slices.DeleteFunc(a.calls, func(c *running) bool { return c == call })
			f.later()
			if a == one && len(one.calls) == 0 {
				moments = append(moments, f.moment(len(one.log)))
			}
		}
		for range rapid.IntRange(8, 16).Draw(rt, "steps") {
			a := rapid.SampledFrom(agents).Draw(rt, "agent")
			switch rapid.SampledFrom([]string{"work", "person", "begin", "end", "tool", "work"}).Draw(rt, "step") {
			case "person":
				if path := f.change("person"); path != "" {
					f.writes.Add(1)
					beside(nil)
					note(func(h *history) map[string]bool { return h.foreign }, path)
				}
			case "tool":
				name := rapid.SampledFrom(names).Draw(rt, "tool path")
				content := fmt.Appendf(nil, "%s tool %d\n", a.name, rapid.IntRange(0, 9).Draw(rt, "tool content"))
				path := filepath.Join(f.path, name)
				files := []Written{{Path: path, Object: ObjectOf(content)}}
				a.must(a.BeforeWrite(ctx, "", files))
				found(a, name)
				before := f.disk()[name]
				if err := os.WriteFile(path, content, 0o644); err != nil {
					rt.Fatal(err)
				}
				a.must(a.AfterWrite(ctx, "", files))
				a.settle()
				f.later()
				if a != one {
					beside(a)
				}
				if f.disk()[name] != before {
					if a == one {
						note(func(h *history) map[string]bool { return h.own }, name)
					} else {
						note(func(h *history) map[string]bool { return h.foreign }, name)
					}
				}
				look(a, name)
			case "begin":
				a.count++
				call := &running{id: fmt.Sprintf("c%d", a.count)}
				for _, other := range agents {
					if other != a && len(other.calls) > 0 {
						call.beside = true
					}
				}
				beside(a)
				a.must(a.BeforeCall(ctx, call.id))
				found(a)
				a.calls = append(a.calls, call)
			case "work":
				if len(a.calls) > 0 {
					call := rapid.SampledFrom(a.calls).Draw(rt, "call")
					call.changed = append(call.changed, f.change(a.name))
				}
			case "end":
				if len(a.calls) > 0 {
					end(a, rapid.SampledFrom(a.calls).Draw(rt, "call"))
				}
			}
		}
		for _, a := range agents {
			for len(a.calls) > 0 {
				end(a, a.calls[0])
			}
		}
		to := rapid.SampledFrom(moments).Draw(rt, "to")
		point, err := HistoryOf(one.log).Numbered(to.number)
		one.must(err)
		before := f.disk()
		plan, err := one.Preview(ctx, Rollback{To: point})
		one.must(err)
		last := len(one.log)
		result, err := one.Rollback(ctx, Rollback{To: point}, plan.Hash, nil, func(context.Context, Journal) error { return nil })
		one.must(err)
		after := f.disk()
		for _, name := range names {
			touched := to.foreign[name] || to.uncertain[name]
			switch {
			case to.either[name]:
			case touched && after[name] != before[name]:
				rt.Fatalf("%s was %q, which others may have written, and is %q: %+v", name, before[name], after[name], result)
			case !touched && after[name] != to.held[name]:
				rt.Fatalf("%s is %q, and only the execution has touched it since it was %q: %+v", name, after[name], to.held[name], result)
			}
		}
		if last == 0 || maps.Equal(before, after) {
			return
		}
		point, err = HistoryOf(one.log).Numbered(last)
		one.must(err)
		plan, err = one.Preview(ctx, Rollback{To: point})
		one.must(err)
		_, err = one.Rollback(ctx, Rollback{To: point}, plan.Hash, nil, func(context.Context, Journal) error { return nil })
		one.must(err)
		if again := f.disk(); !maps.Equal(before, again) {
			rt.Fatalf("the rollback was taken back, and the folder holds %q in place of %q", again, before)
		}
	})
}

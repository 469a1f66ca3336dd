package sessions_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/checkpoints"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/workspace"
	"signoff/internal/workspace/checkpoint"
	"signoff/internal/workspace/checkpoint/checkpointtest"
)

// recording is a folder whose checkpoints are taken.
type recording struct {
	t       testing.TB
	folder  string
	git     *checkpointtest.Git
	config  checkpoints.Config
	service *checkpoints.Service
}

func newRecording(t testing.TB) *recording {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, folder: folder, git: &checkpointtest.Git{}}
	repositories, err := checkpoint.NewStore(r.git, t.TempDir(), checkpoint.DefaultBounds)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.New(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	r.config = checkpoints.Config{Store: repositories, Place: files.Place}
	r.service = checkpoints.New(r.config)
	return r
}

// server wires the checkpoints.
func (r *recording) server(c *dispatch.Config) {
	r.t.Helper()
	files, err := workspace.New(r.folder)
	if err != nil {
		r.t.Fatal(err)
	}
	c.Checkpoints, c.Workspace = r.service, files
}

// of is a request that works in the folder.
func (r *recording) of(mode domain.CheckpointMode) func(*domain.Request) {
	return func(request *domain.Request) {
		request.Checkpoints, request.WorkingDirectory = mode, r.folder
		request.Capabilities.Execute, request.Capabilities.Write = domain.Allow, domain.Allow
	}
}

func (r *recording) put(name, content string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// putLater puts a file into the folder so much later that the times of files tell it.
func (r *recording) putLater(name, content string) {
	r.t.Helper()
	elsewhere := filepath.Join(r.folder+".elsewhere", name)
	if err := os.MkdirAll(filepath.Dir(elsewhere), 0o700); err != nil {
		r.t.Fatal(err)
	}
	for begun := time.Now(); ; {
		if err := os.WriteFile(elsewhere, []byte(content), 0o644); err != nil {
			r.t.Fatal(err)
		}
		info, err := os.Stat(elsewhere)
		if err != nil {
			r.t.Fatal(err)
		}
		if info.ModTime().After(begun) {
			break
		}
	}
	if err := os.Rename(elsewhere, filepath.Join(r.folder, name)); err != nil {
		r.t.Fatal(err)
	}
}

// bash runs a command that writes a file.
func (r *recording) bash(t *sessionstest.Turn, id, name, content string) error {
	call := sessionstest.Bash(id, "write "+name)
	if err := t.Want("m-"+id, call); err != nil {
		return err
	}
	_, err := t.Use(call, func(json.RawMessage) string { r.put(name, content); return "done" })
	return err
}

// write writes a file as a file tool does.
func (r *recording) write(ctx context.Context, t *sessionstest.Turn, id, name, content string) error {
	call := domain.ToolCall{ID: id, Tool: "write", Version: "1", Class: domain.ClassWrite, Arguments: json.RawMessage(`{}`), Summary: "Write " + name}
	if err := t.Want("m-"+id, call); err != nil {
		return err
	}
	grant, err := t.Host.Authorize(ctx, call)
	if err != nil || !grant.Allowed {
		return err
	}
	done := domain.ToolCallCompleted{ToolCallID: id, Outcome: domain.OutcomeSucceeded, Output: "written"}
	if err := t.Host.WriteFiles(ctx, domain.FileChange{Path: name, Content: []byte(content), ToolCallID: id}); err != nil {
		failure := domain.FailureOf(err)
		done = domain.ToolCallCompleted{ToolCallID: id, Outcome: domain.OutcomeFailed, Output: failure.Message, Error: &failure}
	}
	return t.Host.Emit(ctx, done)
}

// points are the checkpoints of a log in short: the moment, the call, and the changes with those who made them.
func points(t testing.TB, log []domain.Event) []string {
	t.Helper()
	var all []string
	for i, point := range payloads[domain.CheckpointCreated](t, log) {
		words := []string{string(point.Moment)}
		if point.ToolCallID != "" {
			words = append(words, point.ToolCallID)
		}
		if point.Status != domain.CheckpointTaken {
			words = append(words, string(point.Status), point.Error.Message)
		} else if point.Checkpoint != i+1 {
			t.Errorf("checkpoint %d of the log has the number %d", i+1, point.Checkpoint)
		}
		for _, folder := range point.Folders {
			for _, change := range folder.Changes {
				words = append(words, string(change.Kind)+" "+change.Path+" by "+string(change.By))
			}
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func wantPoints(t testing.TB, log []domain.Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, points(t, log)); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
	if last := log[len(log)-1]; !last.Type.Terminal() {
		t.Errorf("the log ends with %s", last.Type)
	}
}

// TestCheckpointsAroundCalls: each change of a call is reported as one of the execution, and none of a person is, also where the person is faster than
// the checkpoint after a call.
func TestCheckpointsAroundCalls(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		r.put("a", "1\n")
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			steps := []func() error{
				func() error { return r.bash(turn, "c1", "a", "2\n") },
				func() error { r.putLater("p1", "p\n"); return nil },
				func() error { return r.bash(turn, "c2", "b", "1\n") },
				func() error { r.putLater("p2", "p\n"); return nil },
				func() error { return r.write(ctx, turn, "c3", "new/c", "1\n") },
				func() error { return r.bash(turn, "c4", "b", "1\n") }, // nothing changes
			}
			for _, step := range steps {
				if err := step(); err != nil {
					return "", err
				}
			}
			return domain.StopEndTurn, turn.Say("m", "done")
		}, r.server)
		id := w.start(r.of(domain.CheckpointsRequired))
		w.ended(id)
		var got []string
		for i, point := range payloads[domain.CheckpointCreated](t, w.events(id)) {
			if point.Checkpoint != i+1 || (point.Moment == domain.TurnBegins) != (i == 0) {
				t.Errorf("checkpoint %d of the log has the number %d and the moment %s", i+1, point.Checkpoint, point.Moment)
			}
			for _, change := range point.Folders[0].Changes {
				got = append(got, string(change.Kind)+" "+change.Path+" by "+string(change.By))
			}
		}
		slices.Sort(got)
		want := []string{"added b by execution", "added new/c by execution", "added p1 by others", "added p2 by others", "modified a by execution"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want (-) and got (+) differ:\n%s", diff)
		}
	})
}

// TestACallThatHasNoCheckpoint: with required it does not run; with bestEffort it runs, and an event says why there is no checkpoint.
func TestACallThatHasNoCheckpoint(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for _, mode := range []domain.CheckpointMode{domain.CheckpointsRequired, domain.CheckpointsBestEffort, domain.CheckpointsOff} {
			r := newRecording(t)
			r.git.Fails.Store(true)
			w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
				if err := r.bash(turn, "c1", "a", "1\n"); err != nil {
					return "", err
				}
				return domain.StopEndTurn, r.write(ctx, turn, "c2", "b", "1\n")
			}, r.server)
			id := w.start(r.of(mode))
			w.ended(id)
			log := w.events(id)
			var outcomes []domain.Outcome
			for _, done := range payloads[domain.ToolCallCompleted](t, log) {
				outcomes = append(outcomes, done.Outcome)
			}
			want, reported := domain.OutcomeSucceeded, true
			switch mode {
			case domain.CheckpointsRequired:
				want = domain.OutcomeFailed
			case domain.CheckpointsOff:
				reported = false
			}
			if diff := cmp.Diff([]domain.Outcome{want, want}, outcomes); diff != "" {
				t.Errorf("%s: want (-) and got (+) outcomes differ:\n%s", mode, diff)
			}
			_, err := os.Stat(filepath.Join(r.folder, "a"))
			if ran := err == nil; ran != (want == domain.OutcomeSucceeded) {
				t.Errorf("%s: the command ran: %v", mode, ran)
			}
			if all := points(t, log); (len(all) > 0) != reported || reported && !strings.Contains(all[0], "failed The folder could not be recorded: git or the file system failed") {
				t.Errorf("%s: the log reports %q", mode, all)
			}
		}
	})
}

// TestUnavailableCheckpointsAreReportedOnce: also of an execution that has several turns, and one that requires them does not write.
func TestUnavailableCheckpointsAreReportedOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		for _, mode := range []domain.CheckpointMode{domain.CheckpointsRequired, domain.CheckpointsBestEffort} {
			r := newRecording(t)
			r.service = checkpoints.New(checkpoints.Config{Unavailable: "git is not installed."})
			w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
				if err := r.bash(turn, "c1", "a", "1\n"); err != nil {
					return "", err
				}
				return domain.StopEndTurn, r.write(ctx, turn, "c2", "b", "1\n")
			}, r.server)
			id := w.start(r.of(mode))
			w.ended(id)
			log := w.events(id)
			wantPoints(t, log, "turnBegins unavailable git is not installed.")
			for _, name := range []string{"a", "b"} {
				if _, err := os.Stat(filepath.Join(r.folder, name)); (err == nil) != (mode == domain.CheckpointsBestEffort) {
					t.Errorf("%s: %s: %v", mode, name, err)
				}
			}
		}
	})
}

// TestWritesOfAnExternalAgentAreUncertain: but for those that it makes through the server.
func TestWritesOfAnExternalAgentAreUncertain(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		agent := &sessionstest.External{Opened: make(chan domain.Opening, 10), Script: func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			r.put("by itself", "1\n")
			if err := r.write(ctx, turn, "c1", "through the server", "1\n"); err != nil {
				return "", err
			}
			r.put("later", "1\n")
			return domain.StopEndTurn, nil
		}}
		w := newWorld(t, s, nil, r.server, func(c *dispatch.Config) {
			c.Agents = map[domain.SourceType]sessions.OpenAgent{domain.SourceACP: agent.Open}
		})
		id := w.start(r.of(domain.CheckpointsRequired), func(request *domain.Request) { request.Source.Type = domain.SourceACP })
		w.ended(id)
		wantPoints(t, w.events(id),
			"turnBegins",
			"afterToolCall c1 added through the server by execution",
			"turnEnds added by itself by uncertain added later by uncertain",
		)
	})
}

// TestTwoExecutionsInOneFolder: while calls of both run, nobody can tell who has changed a file.
func TestTwoExecutionsInOneFolder(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		runs, goOn := make(chan struct{}), make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if turn.Prompt.Text == "second" {
				return domain.StopEndTurn, r.bash(turn, "c1", "second", "2\n")
			}
			call := sessionstest.Bash("c1", "write slowly")
			if err := turn.Want("m1", call); err != nil {
				return "", err
			}
			_, err := turn.Use(call, func(json.RawMessage) string {
				close(runs)
				<-goOn
				r.put("first", "1\n")
				return ""
			})
			return domain.StopEndTurn, err
		}, r.server)
		first := w.start(r.of(domain.CheckpointsRequired))
		<-runs
		second := w.start(r.of(domain.CheckpointsRequired), func(request *domain.Request) { request.Prompt = "second" })
		w.ended(second)
		close(goOn)
		w.ended(first)
		wantPoints(t, w.events(second), "turnBegins", "afterToolCall c1 added second by uncertain")
		wantPoints(t, w.events(first), "turnBegins", "afterToolCall c1 added first by uncertain added second by uncertain")
	})
}

// TestAnExecutionWithoutCheckpointsIsSeen: while its calls run, the changes of others in the folder are uncertain.
func TestAnExecutionWithoutCheckpointsIsSeen(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		runs, goOn := make(chan struct{}), make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			if turn.Prompt.Text == "second" {
				return domain.StopEndTurn, r.bash(turn, "c1", "second", "2\n")
			}
			call := sessionstest.Bash("c1", "write slowly")
			if err := turn.Want("m1", call); err != nil {
				return "", err
			}
			_, err := turn.Use(call, func(json.RawMessage) string {
				close(runs)
				<-goOn
				return ""
			})
			return domain.StopEndTurn, err
		}, r.server)
		first := w.start(r.of(domain.CheckpointsOff))
		<-runs
		second := w.start(r.of(domain.CheckpointsRequired), func(request *domain.Request) { request.Prompt = "second" })
		w.ended(second)
		close(goOn)
		w.ended(first)
		wantPoints(t, w.events(first))
		wantPoints(t, w.events(second), "turnBegins", "afterToolCall c1 added second by uncertain")
	})
}

// TestACancelledCallHasItsCheckpoint: before the terminal event.
func TestACancelledCallHasItsCheckpoint(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		r := newRecording(t)
		written := make(chan struct{})
		w := newWorld(t, s, func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
			call := sessionstest.Bash("c1", "write half")
			if err := turn.Want("m1", call); err != nil {
				return "", err
			}
			if _, err := turn.Host.Authorize(ctx, call); err != nil {
				return "", err
			}
			r.put("half", "1\n")
			close(written)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}, r.server)
		id := w.start(r.of(domain.CheckpointsRequired))
		<-written
		if _, err := w.manager.Cancel(context.Background(), tenant, id, "", alice); err != nil {
			t.Fatal(err)
		}
		w.ended(id)
		wantPoints(t, w.events(id), "turnBegins", "turnEnds added half by execution")
	})
}

package sessions_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"

	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/workspace"
)

// anyMachine has every file, and its users read nothing of the server's.
type anyMachine struct{}

func (anyMachine) Real(path string) (string, error) { return path, nil }
func (anyMachine) Reads(_, _ string) (bool, error)  { return false, nil }

// defining gives a server environments.
func defining(t *testing.T, definitions map[string]environments.Definition) func(*dispatch.Config) {
	t.Helper()
	catalog, err := environments.New(environments.Config{Data: "/var/lib/signoff", Definitions: definitions}, anyMachine{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return func(c *dispatch.Config) {
		c.Environments, c.Workspace, c.Sandbox = catalog, files, sessionstest.Sandbox{Kind: "namespaces"}
		c.OpenFiles = func(context.Context, string, domain.Environment) (sessions.Files, error) {
			return nil, domain.Errorf(domain.CodeToolFailed, "opened")
		}
	}
}

// tried is what became of a try to list files, and of one to run a command, each without a question.
type tried struct{ files, command domain.Code }

// A server that drives an execution on goes by its own definitions. Where the environment is gone, or lost what the execution has chosen of it, nothing
// runs, nobody is asked, and no other environment takes its place. The execution ends in good order.
func TestAnEnvironmentThatIsNotThereAnyMore(t *testing.T) {
	mounted := func(access string, more ...string) map[string]environments.Definition {
		mounts := map[string]string{"/srv/app": access}
		for _, path := range more {
			mounts[path] = "read"
		}
		return map[string]environments.Definition{"app": {Mounts: mounts}}
	}
	for name, later := range map[string]struct {
		definitions map[string]environments.Definition
		there       bool
	}{
		"as it was":                      {mounted("write", "/var/log/app"), true},
		"wider, and narrowed as before":  {mounted("write", "/var/log/app", "/opt/app"), true},
		"gone":                           {nil, false},
		"without a mount that was taken": {map[string]environments.Definition{"app": {Mounts: map[string]string{"/var/log/app": "read"}}}, false},
		"without the working directory":  {mounted("read", "/var/log/app"), false},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				tries := make(chan tried, 10)
				script := func(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
					_, files := turn.Host.ReadDir(ctx, ".")
					_, command := turn.Host.Run(ctx, domain.Command{Argv: []string{"ls"}}, io.Discard)
					tries <- tried{codeOf(files), codeOf(command)}
					_, err := turn.Use(sessionstest.Bash("c1", "ls"), func(json.RawMessage) string { return "listed" })
					return domain.StopEndTurn, err
				}
				first := newWorld(t, s, script, defining(t, mounted("write", "/var/log/app")))
				id := first.start(func(r *domain.Request) {
					r.Environment = domain.EnvironmentChoice{Name: "app", Mounts: []string{"/srv/app"}, Digest: "of its creation"}
					r.WorkingDirectory, r.Requires = "/srv/app", domain.RequiresEnvironments
				})
				asked := first.approvals(id, 1)[0]
				if try := <-tries; try != (tried{files: domain.CodeToolFailed}) {
					t.Errorf("at first: %+v", try)
				}
				first.drain()
				second := newWorld(t, s, script, defining(t, later.definitions))
				try := <-tries
				if !later.there {
					if try != (tried{domain.CodeEnvironmentUnavailable, domain.CodeEnvironmentUnavailable}) {
						t.Errorf("later: %+v", try)
					}
					second.ended(id)
					if ended := second.outcomeOf(id); ended.Outcome != domain.OutcomeFailed || ended.Error == nil || ended.Error.Code != domain.CodeEnvironmentUnavailable {
						t.Errorf("the call ended as %+v", ended)
					}
					return
				}
				if try != (tried{files: domain.CodeToolFailed}) {
					t.Errorf("later: %+v", try)
				}
				second.decide(asked)
				second.ended(id)
				if ended := second.outcomeOf(id); ended.Outcome != domain.OutcomeSucceeded {
					t.Errorf("the call ended as %+v", ended)
				}
			})
		})
	}
}

// An external agent does not start in a folder that was taken away: its process would write there without asking.
func TestNoExternalAgentStartsInAFolderThatWasTakenAway(t *testing.T) {
	for access, starts := range map[string]bool{"write": true, "read": false} {
		t.Run(access, func(t *testing.T) {
			s := storetest.SQLite(t)
			external := &sessionstest.External{Opened: make(chan domain.Opening, 10), Script: func(context.Context, *sessionstest.Turn) (domain.StopReason, error) {
				return domain.StopEndTurn, nil
			}}
			w := newWorld(t, s, nil, defining(t, map[string]environments.Definition{"app": {Mounts: map[string]string{"/srv/app": access}}}), func(c *dispatch.Config) {
				c.Agents[domain.SourceACP] = external.Open
			})
			id := w.start(func(r *domain.Request) {
				r.Source = domain.Source{Type: domain.SourceACP, Command: "mock"}
				r.Environment, r.WorkingDirectory, r.Requires = domain.EnvironmentChoice{Name: "app"}, "/srv/app", domain.RequiresEnvironments
			})
			ended := w.ended(id)
			if (len(external.Opened) == 1) != starts || ended.Output.Success != starts {
				t.Errorf("opened %d times, %+v", len(external.Opened), ended.Output)
			}
			if !starts && ended.Output.Error.Code != domain.CodeEnvironmentUnavailable {
				t.Errorf("%+v", ended.Output.Error)
			}
		})
	}
}

// codeOf is empty where there is no error.
func codeOf(err error) domain.Code {
	if err == nil {
		return ""
	}
	return domain.CodeOf(err)
}

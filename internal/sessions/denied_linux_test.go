package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"signoff/internal/approvals"
	"signoff/internal/audit"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store/storetest"
	"signoff/internal/tools"
)

// in opens a real sandbox. Only bubblewrap may be missing.
func in(t *testing.T, mode sandbox.Mode) *sandbox.Sandbox {
	t.Helper()
	box, err := sandbox.New(t.Context(), sandbox.Config{Mode: mode})
	if err != nil && mode == sandbox.ModeBubblewrap {
		t.Skip("NOT TESTED, bubblewrap does not work here:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// shell is an agent that runs the lines that a test hands it.
type shell struct {
	*world
	id    domain.ExecutionID
	lines chan string
	ran   chan error
	calls int
	after func() // between the yes and the command
}

func newShell(t *testing.T, box sessions.Sandbox, change ...func(*domain.Request)) *shell {
	s := &shell{lines: make(chan string), ran: make(chan error), after: func() {}}
	s.world = newWorld(t, storetest.SQLite(t), s.script, func(c *dispatch.Config) { c.Sandbox = box })
	everything := func(r *domain.Request) {
		r.Capabilities = domain.Capabilities{Read: domain.Allow, Write: domain.Allow, Execute: domain.Allow}
	}
	s.id = s.start(append([]func(*domain.Request){everything}, change...)...)
	t.Cleanup(func() { s.cancel(s.id) })
	return s
}

func (s *shell) script(ctx context.Context, turn *sessionstest.Turn) (domain.StopReason, error) {
	for {
		select {
		case line := <-s.lines:
			s.ran <- s.use(ctx, turn, line)
		case <-ctx.Done():
			return domain.StopCancelled, ctx.Err()
		}
	}
}

var errRefused = errors.New("refused")

func (s *shell) use(ctx context.Context, turn *sessionstest.Turn, line string) error {
	s.calls++
	call := sessionstest.Bash(fmt.Sprint("c", s.calls), line)
	if err := turn.Want("m1", call); err != nil {
		return err
	}
	grant, err := turn.Host.Authorize(ctx, call)
	if err != nil || !grant.Allowed {
		return errors.Join(errRefused, err)
	}
	s.after()
	result := tools.Bash{}.Run(ctx, ofCall{turn.Host, grant}, call)
	if err := turn.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: call.ID, Outcome: domain.OutcomeSucceeded, Output: result.Output}); err != nil {
		return err
	}
	if result.Failure != nil && result.Failure.Code != domain.CodeToolFailed {
		return domain.Errorf(result.Failure.Code, "%s", result.Failure.Message)
	}
	return nil
}

// ofCall says of a command whose it is, as the agents do.
type ofCall struct {
	domain.Host
	grant domain.Grant
}

func (h ofCall) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	command.Tool, command.Approved = "bash", h.grant.Approved
	return h.Host.Run(ctx, command, output)
}

// runs has a line judged and run. Where it asks, the reason is returned, and the answer is yes.
func (s *shell) runs(line string) (asked string, err error) {
	s.t.Helper()
	s.lines <- line
	for {
		select {
		case err := <-s.ran:
			return asked, err
		case <-time.After(10 * time.Millisecond):
			all, err := s.store.ApprovalsOf(context.Background(), s.id)
			if err != nil {
				s.t.Fatal(err)
			}
			for _, approval := range all {
				if approval.Status == domain.ApprovalPending {
					asked = approval.Reason
					s.decide(approval)
				}
			}
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
	}
}

// TestADenyRuleHoldsForCommands: a command that runs without a question does not reach a denied path, however it tries. If nothing
// can be mounted, the command asks.
func TestADenyRuleHoldsForCommands(t *testing.T) {
	for _, mode := range []sandbox.Mode{sandbox.ModeBubblewrap, sandbox.ModeNamespaces} {
		t.Run(string(mode), func(t *testing.T) {
			dir := linked(t)
			secret := dir + "/secret/n"
			put(t, secret, "canary")
			s := newShell(t, in(t, mode), func(r *domain.Request) {
				r.WorkingDirectory = dir
				r.Rules = []domain.RequestRule{{Effect: domain.Deny, Matcher: domain.Matcher{Path: dir + "/secret/**"}}}
			})
			goes := func(line, reason string) {
				t.Helper()
				asked, err := s.runs(line)
				if err != nil || !strings.HasSuffix(asked, reason) || (asked == "") != (reason == "") {
					t.Errorf("%s: asked %q, %v", line, asked, err)
				}
			}
			goes("ln -s secret s; echo x > s/n; cat s/n > copy", "")
			goes("echo 'echo x > sl/n; cp sl/n copy' > evil.sh; sh evil.sh", "")
			goes("echo 'mv secret away; rm -r secret; mkdir secret; echo x > secret/n' > evil.sh; sh evil.sh", "")
			goes("python3 -c \"open('sl/n', 'w')\"", "")
			holds(t, secret, "canary")
			if text, _ := os.ReadFile(dir + "/copy"); strings.Contains(string(text), "canary") {
				t.Error("it was read")
			}
			if _, err := s.runs("echo x > sl/n"); !errors.Is(err, errRefused) {
				t.Errorf("what the line shows: %v", err)
			}

			// A rule that is made now holds from the next command on.
			put(t, dir+"/docs/n", "old")
			goes("echo new > docs/n", "")
			added := s.rule(domain.Deny, domain.Matcher{Class: domain.ClassWrite, Path: dir + "/docs/**"})
			goes("echo 'echo newer > docs/n; cat docs/n > seen' > evil.sh; sh evil.sh", "")
			holds(t, dir+"/docs/n", "new")
			goes("sh -c 'cat docs/n > seen'", "")
			holds(t, dir+"/seen", "new")

			// What cannot be mounted asks; what a person lets run runs, and what can be kept from it is kept even then.
			pattern := s.rule(domain.Deny, domain.Matcher{Path: dir + "/*/key"})
			goes("sh evil.sh; echo x > src/x", "because the path is a pattern.")
			holds(t, dir+"/docs/n", "new")
			s.revoke(pattern)
			missing := s.rule(domain.Deny, domain.Matcher{Path: dir + "/later/**"})
			goes("echo 'mkdir later' > make.sh; sh make.sh", "because it does not exist, so that nothing can be mounted there.")
			goes("echo 'echo y > later/y' > evil.sh; sh evil.sh", "") // it is there by now
			if _, err := os.Stat(dir + "/later/y"); err == nil {
				t.Error("a folder that was made later is not kept from the next command")
			}
			s.revoke(missing)
			link := s.rule(domain.Deny, domain.Matcher{Path: dir + "/out/in/**"})
			goes("ls", "because a link leads to it, or is on the way to it.")
			s.revoke(link)
			all := s.rule(domain.Deny, domain.Matcher{Class: domain.ClassRead, Path: filepath.Dir(dir) + "/**"})
			goes("ls", "because the working directory is a part of it.")
			s.revoke(all)
			s.rule(domain.Deny, domain.Matcher{Path: "/nowhere/**"})
			s.rule(domain.Deny, domain.Matcher{Tool: "write", Path: dir + "/*"})
			goes("ls", "")

			// Between the yes and the command somebody puts a link in the way.
			s.revoke(added)
			s.after = func() {
				if err := errors.Join(os.Rename(dir+"/secret", dir+"/moved"), os.Symlink("moved", dir+"/secret")); err != nil {
					t.Error(err)
				}
			}
			if asked, err := s.runs("touch begun"); asked != "" || domain.CodeOf(err) != domain.CodePolicyDenied {
				t.Errorf("a folder that was exchanged: asked %q, %v", asked, err)
			}
			if _, err := os.Stat(dir + "/begun"); err == nil {
				t.Error("the command began")
			}
		})
	}
}

func (w *world) revoke(rule domain.PermissionRule) {
	w.t.Helper()
	if _, err := w.service.RevokeRule(context.Background(), tenant, rule.ID, alice, audit.ByAPI); err != nil {
		w.t.Fatal(err)
	}
}

// TestWithoutIsolationADenyRuleAsks: there is nothing to mount in.
func TestWithoutIsolationADenyRuleAsks(t *testing.T) {
	dir := linked(t)
	s := newShell(t, in(t, sandbox.ModeOff), func(r *domain.Request) {
		r.WorkingDirectory, r.SafeModeOff = dir, true
		r.Rules = []domain.RequestRule{{Effect: domain.Deny, Matcher: domain.Matcher{Path: "/nowhere/**"}}}
	})
	if asked, err := s.runs("ls"); err != nil || !strings.HasSuffix(asked, "because commands are not isolated on this server.") {
		t.Errorf("asked %q, %v", asked, err)
	}
}

// TestNothingDeniedIsEverReached: for random rules and lines, a command that runs without a question changes no denied file, and
// reads none that is denied to readers.
func TestNothingDeniedIsEverReached(t *testing.T) {
	const tries = 100
	seed := rand.Uint64()
	t.Log("seed", seed)
	box := in(t, sandbox.ModeNamespaces)
	random := rand.New(rand.NewPCG(seed, 1))
	ran, evaded := 0, 0
	for range tries {
		trial := newTrial(t, random)
		judgement, err := trial.run(t.Context(), box, true)
		if err != nil {
			t.Fatal(trial, err)
		}
		if judgement.Verdict != domain.Allow {
			continue
		}
		ran++
		if reached := trial.reached(t); reached != "" {
			t.Errorf("%s\nreaches %s", trial, reached)
		}
		if evaded > 0 || trial.reached(t) != "" { // once is enough to know that the attempts are good for something
			continue
		}
		trial.restore(t)
		if _, err := trial.run(t.Context(), box, false); err != nil {
			t.Fatal(trial, err)
		}
		if trial.reached(t) != "" {
			evaded++
		}
	}
	t.Logf("%d of %d lines ran", ran, tries)
	if ran < tries/10 || evaded == 0 {
		t.Errorf("%d lines ran, and without mounts %d reached what is denied", ran, evaded)
	}
}

// trial is a workspace, rules, and a line whose worst part is hidden in a script.
type trial struct {
	dir    string
	rules  []domain.RequestRule
	line   string
	script string
	before map[string]string // what lies where
}

func newTrial(t *testing.T, random *rand.Rand) *trial {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "a/c", "a/c/d", "b/e", "x", "a/f", "b/e/f", "a/c/f", "y"}
	name := func() string { return names[random.IntN(len(names))] }
	tr := &trial{dir: dir}
	classes := []domain.Class{"", "", domain.ClassRead, domain.ClassWrite, domain.ClassWrite, domain.ClassExecute}
	for range 1 + random.IntN(2) {
		suffix := []string{"", "/**", "/**", "/**", "/*"}[random.IntN(5)]
		tr.rules = append(tr.rules, domain.RequestRule{
			Effect: domain.Deny, Matcher: domain.Matcher{Class: classes[random.IntN(len(classes))], Path: dir + "/" + name() + suffix},
		})
	}
	step := func() string {
		forms := []string{
			"echo evil > %s", "echo evil >> %s", "ln -s \"$PWD/%s\" %s", "ln -s %s %s", "ln %s %s", "mv %s %s", "cp -r %s %s", "rm -rf %s", "mkdir -p %s", "cat %s",
			"cd %s", "tee %s < /dev/null", "chmod 777 %s", "find %s -type f", "python3 -c 'open(\"%s\", \"w\").write(\"evil\")'", "mv -T %s %s", "grep -r canary %s",
		}
		form := forms[random.IntN(len(forms))]
		arguments := make([]any, strings.Count(form, "%s"))
		for i := range arguments {
			arguments[i] = name()
		}
		return fmt.Sprintf(form, arguments...)
	}
	steps := func(n int) (all []string) {
		for range n {
			all = append(all, step())
		}
		return all
	}
	tr.script = strings.Join(steps(12), "\n") + "\n"
	tr.line = "sh ./script"
	if random.IntN(3) == 0 {
		tr.line = strings.Join(append(steps(1), tr.line), "; ")
	}
	tr.restore(t)
	return tr
}

func (tr *trial) String() string { return fmt.Sprintf("%+v\n%s\n%s", tr.rules, tr.line, tr.script) }

// restore makes the workspace as it was.
func (tr *trial) restore(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(tr.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(tr.dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a/c/d/n", "a/c/f", "a/f", "b/e/f", "b/n", "x"} {
		put(t, filepath.Join(tr.dir, name), "canary of "+name+"!")
	}
	put(t, filepath.Join(tr.dir, "script"), tr.script)
	if err := os.Symlink("a/c", filepath.Join(tr.dir, "y")); err != nil {
		t.Fatal(err)
	}
	tr.before = tr.contents(t)
}

// contents lists the text of files and the targets of links.
func (tr *trial) contents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(tr.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := []byte("folder")
		if entry.Type().IsRegular() {
			text, err = os.ReadFile(path)
		} else if target, isLink := os.Readlink(path); isLink == nil {
			text = []byte("link to " + target)
		}
		all[path] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// run judges the line and, where it runs without a question, runs it as a session does.
func (tr *trial) run(ctx context.Context, box *sandbox.Sandbox, kept bool) (approvals.Judgement, error) {
	request := request(func(r *domain.Request) {
		r.WorkingDirectory, r.Rules, r.SafeModeOff = tr.dir, tr.rules, true
	})
	policy, err := approvals.NewPolicy(request)
	if err != nil {
		return approvals.Judgement{}, err
	}
	policy.Isolation = sessions.IsolationIn(box, domain.Environment{})
	judgement := policy.Judge(ctx, sessionstest.Bash("c1", tr.line), "h", time.Now())
	if judgement.Verdict != domain.Allow {
		return judgement, nil
	}
	command := domain.Command{Argv: []string{"bash", "-c", tr.line}, Dir: tr.dir, Tool: "bash"}
	if command.Denied, err = policy.Denied(ctx, command, time.Now()); err != nil {
		return judgement, err
	}
	if !kept {
		command.Denied = nil
	}
	output, err := os.Create(tr.dir + ".output")
	if err != nil {
		return judgement, err
	}
	defer output.Close()
	_, err = box.Run(ctx, command, output)
	return judgement, err
}

// reached tells what the command has done to what is denied, or with it.
func (tr *trial) reached(t *testing.T) string {
	t.Helper()
	after := tr.contents(t)
	output, err := os.ReadFile(tr.dir + ".output")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for path := range tr.before {
		if _, still := after[path]; !still {
			after[path] = "nothing"
		}
	}
	for path, text := range after {
		for _, rule := range tr.rules {
			if covered, _ := doublestar.Match(rule.Matcher.Path, path); covered && text != tr.before[path] {
				all = append(all, fmt.Sprintf("%s: %q, was %q", path, text, tr.before[path]))
			}
		}
	}
	for path, text := range tr.before {
		for _, rule := range tr.rules {
			covered, _ := doublestar.Match(rule.Matcher.Path, path)
			if !covered || rule.Matcher.Class == domain.ClassWrite || !strings.HasPrefix(text, "canary") {
				continue
			}
			if strings.Contains(string(output), text) {
				all = append(all, "the output shows "+path)
			}
			for other, copied := range after {
				if other != path && strings.Contains(copied, text) {
					all = append(all, other+" holds what is in "+path)
				}
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

package e2e

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// outputs are what the calls of a log have printed.
func outputs(t *testing.T, log []wireEvent) []string {
	t.Helper()
	var all []string
	for _, done := range of[domain.ToolCallCompleted](t, log) {
		all = append(all, strings.TrimSpace(done.Output))
	}
	return all
}

// mayAll has nobody asked: what these commands do is looked at afterwards.
var mayAll = object{"execute": "allow", "write": "allow"}

// goes is a request with these fields.
func goes(fields object) object {
	return harness.With(object{"source": object{"type": "internal"}, "prompt": "go"}, fields)
}

// inMode is a request with an own folder.
func inMode(mode string, more object) object {
	return goes(object{"workspace": harness.With(object{"mode": mode}, more), "capabilities": mayAll, "safeMode": false, "checkpoints": "required"})
}

// TestTheWorkspaceNew: an empty folder, which nobody else sees.
func TestTheWorkspaceNew(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, e engine) {
		m := newModel(t, inTurn(
			calls("bash", object{"command": "pwd; ls -A; echo made > a"}),
			calls("read", object{"path": "a"}),
			calls("write", object{"path": "sub/b", "content": "written\n"}),
			calls("bash", object{"command": "cat sub/b; ls ..; cat " + "../../../token"}),
			finally("done"),
		))
		s := up(t, e, m)
		must(t, os.WriteFile(filepath.Join(s.workspace, "others"), []byte("1\n"), 0o644))
		made := created[api.Execution](s.client, inMode("new", nil))
		s.finishes(made.Id, domain.StatusCompleted)
		folder := made.WorkingDirectory
		if made.Workspace.Mode != domain.WorkspaceNew || !made.Workspace.Keep || filepath.Base(folder) != made.Id || !strings.HasPrefix(folder, s.data()) {
			t.Errorf("it works in %s, %+v", folder, made.Workspace)
		}
		printed := outputs(t, s.sound(made.Id))
		if printed[0] != folder || !strings.Contains(printed[1], "made") || !strings.Contains(printed[3], "token: No such file") ||
			!strings.HasPrefix(printed[3], "written\n"+made.Id+"\n") {
			t.Errorf("the calls printed %q", printed)
		}
		if content, err := os.ReadFile(filepath.Join(folder, "sub", "b")); err != nil || string(content) != "written\n" {
			t.Errorf("%q %v", content, err)
		}
		changed := strings.Join(changes(t, s.sound(made.Id)), "\n")
		if changed != "added a by execution\nadded sub/b by execution" {
			t.Errorf("its checkpoints report\n%s", changed)
		}
		// Nobody else names the folder.
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", goes(object{"workingDirectory": folder}))
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", goes(object{"workspace": object{"mode": "shared", "keep": false}}))
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", goes(object{"workspace": object{"mode": "new"}, "workingDirectory": "."}))
		// It goes with its execution.
		want[object](s.client, http.StatusNoContent, "DELETE", "/executions/"+made.Id, nil, headers{"Prefer": "wait=30"})
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}

// TestAnOwnFolderThatIsNotKept goes with the end of its execution, with its links and without what they lead to.
func TestAnOwnFolderThatIsNotKept(t *testing.T) {
	t.Parallel()
	m := newModel(t, inTurn(
		calls("bash", object{"command": "mkdir -p a/b; echo 1 > a/b/c; ln -s ../../../../workspace out; chmod 500 a"}),
		finally("done"),
	))
	s := up(t, engine{}, m)
	must(t, os.WriteFile(filepath.Join(s.workspace, "stays"), []byte("1\n"), 0o644))
	made := created[api.Execution](s.client, inMode("new", object{"keep": false}))
	s.finishes(made.Id, domain.StatusCompleted)
	s.eventually("the folder is removed", func() bool {
		entries, err := os.ReadDir(filepath.Dir(made.WorkingDirectory))
		return err == nil && len(entries) == 0
	})
	if _, err := os.Stat(filepath.Join(s.workspace, "stays")); err != nil {
		t.Error(err)
	}
}

// git runs git as a person does, in a folder of a person, and returns what it prints.
func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, printed)
	}
	return strings.TrimSpace(string(printed))
}

// write writes files, with the folders above them.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644))
	}
}

// repository makes a repository with one commit in a folder of the workspace.
func (s *server) repository(name string, init ...string) string {
	s.t.Helper()
	folder := filepath.Join(s.workspace, name)
	must(s.t, os.MkdirAll(folder, 0o755))
	git(s.t, folder, append([]string{"init", "-q", "-b", "main"}, init...)...)
	write(s.t, folder, map[string]string{"a": "1\n", "sub/b": "2\n", ".gitignore": "ignored\n"})
	git(s.t, folder, "add", "-A")
	git(s.t, folder, "commit", "-q", "-m", "first")
	return folder
}

// everyFile is what a folder holds, with the contents.
func everyFile(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	}))
	return all
}

// TestTheWorkspaceWorktree: a clone at the commit of HEAD, in which git works. The user's repository stays as it is.
func TestTheWorkspaceWorktree(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, e engine) {
		m := newModel(t, inTurn(
			calls("bash", object{"command": "pwd; git rev-parse HEAD --abbrev-ref HEAD; git status --porcelain; cat b; git log --format=%s"}),
			calls("write", object{"path": "b", "content": "changed\n"}),
			calls("bash", object{"command": "git commit -qam second && git log --format='%s by %an' && ls .. && touch ../../../.. 2>&1; echo x > " + "$(cat ../.git/objects/info/alternates)/x"}),
			finally("done"),
		))
		s := up(t, e, m)
		repository := s.repository("app")
		head := git(t, repository, "rev-parse", "HEAD")
		write(t, repository, map[string]string{"a": "not committed\n", "untracked": "x"})
		before := everyFile(t, s.workspace)
		made := created[api.Execution](s.client, harness.With(inMode("worktree", nil), object{"workingDirectory": "app/sub"}))
		s.finishes(made.Id, domain.StatusCompleted)
		branch := "signoff/" + made.Id
		if *made.Workspace.From != filepath.Join(repository, "sub") || *made.Workspace.Branch != branch || *made.Workspace.Commit != head || filepath.Base(made.WorkingDirectory) != "sub" {
			t.Errorf("the answer says %s, %+v", made.WorkingDirectory, made.Workspace)
		}
		if len(made.Warnings) != 1 || !strings.Contains(made.Warnings[0].Message, "not committed") {
			t.Errorf("the warnings are %+v", made.Warnings)
		}
		printed := outputs(t, s.sound(made.Id))
		if want := strings.Join([]string{made.WorkingDirectory, head, branch, "2", "first"}, "\n"); printed[0] != want {
			t.Errorf("the first command printed %q instead of %q", printed[0], want)
		}
		if !strings.HasPrefix(printed[2], "second by Signoff\nfirst by ann\na\nsub\n") || !strings.Contains(printed[2], "Read-only file system") {
			t.Errorf("the last command printed %q", printed[2])
		}
		if diff := cmp.Diff(before, everyFile(t, s.workspace)); diff != "" {
			t.Errorf("the user's folder has changed: %s", diff)
		}
		if changed := strings.Join(changes(t, s.sound(made.Id)), "\n"); changed != "modified sub/b by execution" {
			t.Errorf("its checkpoints report\n%s", changed)
		}
	})
}

// TestRepositoriesThatAreHostile: nothing that a repository names runs or is shown, and what cannot be cloned is refused.
func TestRepositoriesThatAreHostile(t *testing.T) {
	t.Parallel()
	m := newModel(t, inTurn(calls("bash", object{"command": "git status --porcelain; git rev-parse HEAD; cat a; ls -A; git log --format=%s"}), finally("done")))
	s := up(t, engine{}, m, "SIGNOFF_SANDBOX=namespaces") // the other tests run in bubblewrap
	outside := t.TempDir()
	ran := filepath.Join(s.workspace, "ran")
	evil := "touch " + ran + " " + filepath.Join(outside, "ran")
	hostile := s.repository("hostile")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit"} {
		must(t, os.WriteFile(filepath.Join(hostile, ".git", "hooks", hook), []byte("#!/bin/sh\n"+evil+"\n"), 0o755))
	}
	write(t, hostile, map[string]string{".gitattributes": "* filter=evil text=auto\n*.x ident\n"})
	git(t, hostile, "-c", "core.hooksPath=/dev/null", "add", "-A")
	git(t, hostile, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "filters")
	for key, value := range map[string]string{
		"filter.evil.smudge": evil, "filter.evil.clean": evil, "filter.evil.process": evil, "core.fsmonitor": evil, "core.sshCommand": evil, "core.alternateRefsCommand": evil,
		"core.pager": evil, "diff.external": evil, "include.path": filepath.Join(outside, "config"), "init.templateDir": outside,
	} {
		git(t, hostile, "config", key, value)
	}
	linked := filepath.Join(s.workspace, "linked")
	git(t, s.repository("main"), "worktree", "add", "-q", "-b", "side", linked)
	detached := s.repository("detached")
	git(t, detached, "checkout", "-q", "--detach")
	s.repository("sha256", "--object-format=sha256")
	shallow := filepath.Join(s.workspace, "shallow")
	deep := s.repository("deep")
	write(t, deep, map[string]string{"a": "1\n", "c": "3\n"})
	git(t, deep, "add", "-A")
	git(t, deep, "commit", "-q", "-m", "second")
	git(t, s.workspace, "clone", "-q", "--depth", "1", "file://"+deep, shallow)
	borrowing := filepath.Join(s.workspace, "borrowing")
	git(t, s.workspace, "clone", "-q", "--shared", "deep", borrowing)
	chain := filepath.Join(s.workspace, "chain")
	git(t, s.workspace, "clone", "-q", "--shared", "borrowing", chain)
	module := s.repository("withmodule")
	git(t, module, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", deep, "module")
	git(t, module, "commit", "-q", "-m", "module")

	for folder, prints := range map[string]string{
		"hostile": "filters\nfirst", "linked": "first", "detached": "first", "sha256": "first", "shallow": "second", "borrowing": "second\nfirst", "chain": "second\nfirst",
		"withmodule": "module\nfirst", "withmodule/module": "second\nfirst",
	} {
		head := git(t, filepath.Join(s.workspace, folder), "-c", "core.fsmonitor=false", "rev-parse", "HEAD")
		made := created[api.Execution](s.client, harness.With(inMode("worktree", nil), object{"workingDirectory": folder}))
		s.finishes(made.Id, domain.StatusCompleted)
		if printed := outputs(t, s.sound(made.Id)); !strings.HasPrefix(printed[0], head+"\n1\n") || !strings.HasSuffix(printed[0], "\n"+prints) {
			t.Errorf("in the clone of %s the command printed %q", folder, printed)
		}
	}
	for _, path := range []string{ran, filepath.Join(outside, "ran")} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a program of the repository ran", path)
		}
	}

	git(t, outside, "init", "-q", "-b", "main")
	write(t, outside, map[string]string{"secret": "x"})
	git(t, outside, "add", "-A")
	git(t, outside, "commit", "-q", "-m", "secret")
	for _, folder := range []string{"file", "link", "plain/sub", "objects", "common", "alternates", "unborn"} {
		must(t, os.MkdirAll(filepath.Join(s.workspace, folder), 0o755))
	}
	write(t, s.workspace, map[string]string{"file/.git": "gitdir: " + outside + "/.git\n"})
	must(t, os.Symlink(filepath.Join(outside, ".git"), filepath.Join(s.workspace, "link", ".git")))
	git(t, s.workspace, "init", "-q", "--bare", "bare")
	git(t, filepath.Join(s.workspace, "unborn"), "init", "-q")
	for _, folder := range []string{"objects", "common", "alternates"} {
		s.repository(folder)
	}
	must(t, os.RemoveAll(filepath.Join(s.workspace, "objects", ".git", "objects")))
	must(t, os.Symlink(filepath.Join(outside, ".git", "objects"), filepath.Join(s.workspace, "objects", ".git", "objects")))
	write(t, s.workspace, map[string]string{
		"common/.git/commondir": filepath.Join(outside, ".git") + "\n", "alternates/.git/objects/info/alternates": filepath.Join(outside, ".git", "objects") + "\n",
	})
	for _, folder := range []string{"file", "link", "plain/sub", "bare", "unborn", "objects", "common", "alternates", "."} {
		refusal := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", harness.With(inMode("worktree", nil), object{"workingDirectory": folder}))
		if len(refusal.Errors) != 1 || refusal.Errors[0].Pointer != "/workingDirectory" || strings.Contains(refusal.Detail, outside) {
			t.Errorf("%s: %+v", folder, refusal)
		}
	}
}

// TestFetchingAClone: a preview, and the branch in the user's repository, whose hooks do not run.
func TestFetchingAClone(t *testing.T) {
	t.Parallel()
	m := newModel(t, inTurn(
		calls("bash", object{"command": "echo more >> a; printf 'x\\0y' > binary; git add -A; git commit -qm 'second <x>'; echo left > left"}),
		calls("bash", object{"command": "git config core.fsmonitor 'touch /tmp/x' 2>&1; true"}),
		finally("done"),
	))
	s := up(t, engine{}, m)
	for _, format := range []string{"sha1", "sha256"} {
		repository := s.repository(format, "--object-format="+format)
		head := git(t, repository, "rev-parse", "HEAD")
		ran := filepath.Join(s.workspace, "ran")
		for _, hook := range []string{"reference-transaction", "post-update", "update", "pre-receive", "post-merge"} {
			must(t, os.WriteFile(filepath.Join(repository, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755))
		}
		id := created[api.Execution](s.client, harness.With(inMode("worktree", nil), object{"workingDirectory": format})).Id
		s.finishes(id, domain.StatusCompleted)
		at := "/executions/" + id + "/workspace/fetch"
		preview := want[api.WorkspaceFetch](s.client, http.StatusOK, "POST", at, object{"dryRun": true})
		if preview.Fetched || preview.Existing != nil || preview.Base != head || preview.CommitCount != 1 || preview.Commits[0].Subject != "second <x>" || preview.FileCount != 2 ||
			*preview.Files[0].Additions != 1 || preview.Files[1].Additions != nil || !slices.Equal(preview.Uncommitted, []string{"left"}) || preview.Branch != "signoff/"+id {
			t.Errorf("the preview is %+v", preview)
		}
		if branches := git(t, repository, "branch", "--format=%(refname:short)"); branches != "main" {
			t.Errorf("after the preview the branches are %s", branches)
		}
		s.refused(http.StatusConflict, "previewOutdated", "POST", at, object{"commit": head})
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", at, object{})
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", at, object{"commit": head, "dryRun": true})
		s.with(s.newKey("--name", "reader", "--scopes", "executions:read,executions:write")).refused(http.StatusForbidden, "forbidden", "POST", at, object{"dryRun": true})
		for range 2 { // again is the same
			if done := want[api.WorkspaceFetch](s.client, http.StatusOK, "POST", at, object{"commit": preview.Commit}); !done.Fetched || *done.Existing != preview.Commit {
				t.Errorf("it fetched %+v", done)
			}
		}
		if fetched := git(t, repository, "rev-parse", preview.Branch, "HEAD", "main"); fetched != preview.Commit+"\n"+head+"\n"+head {
			t.Errorf("the branches are at %s", fetched)
		}
		git(t, repository, "fsck", "--strict")
		if status := git(t, repository, "status", "--porcelain"); status != "" {
			t.Errorf("the user's work tree is %s", status)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Error("a hook ran")
		}
		git(t, repository, "-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/"+preview.Branch, git(t, repository, "-c", "core.hooksPath=/dev/null", "commit-tree", "-m", "other", "HEAD^{tree}"))
		if refusal := s.refused(http.StatusConflict, "conflict", "POST", at, object{"commit": preview.Commit}); !strings.Contains(refusal.Detail, "non-fast-forward") {
			t.Errorf("over another branch: %+v", refusal)
		}
		must(t, os.Rename(repository, repository+".moved"))
		s.repository(format, "--object-format="+format)
		must(t, os.WriteFile(filepath.Join(repository, "other"), nil, 0o644))
		git(t, repository, "add", "other")
		git(t, repository, "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "--amend", "-m", "another repository")
		git(t, repository, "reflog", "expire", "--expire=now", "--all")
		git(t, repository, "gc", "-q", "--prune=now")
		if refusal := s.refused(http.StatusConflict, "conflict", "POST", at, object{"dryRun": true}); !strings.Contains(refusal.Detail, "another repository") {
			t.Errorf("from another repository: %+v", refusal)
		}
	}
	var ends []string
	for _, entry := range want[api.AuditPage](s.client, http.StatusOK, "GET", "/audit?action=workspace.fetchEnded", nil).Items {
		var record domain.AuditRecord
		must(t, json.Unmarshal(entry.Record, &record))
		ends = append(ends, record.Outcome)
	}
	if each := []string{"failed", "completed", "completed", "failed"}; !slices.Equal(ends, slices.Concat(each, each)) {
		t.Errorf("the audit has fetches that ended as %v", ends)
	}
	plain := s.create(goes(object{"capabilities": mayAll, "safeMode": false}))
	s.finishes(plain.ID, domain.StatusCompleted)
	s.refused(http.StatusConflict, "conflict", "POST", "/executions/"+plain.ID+"/workspace/fetch", object{"dryRun": true})
}

// TestTheWorkspaceCopy: a copy of the working directory, in which git works. The original stays as it is.
func TestTheWorkspaceCopy(t *testing.T) {
	t.Parallel()
	m := newModel(t, inTurn(
		calls("bash", object{"command": "cat a ignored; git status --porcelain; echo changed > a; git -c user.name=x -c user.email=x commit -qam second; ls -A ../.."}),
		finally("done"),
	))
	s := up(t, engine{}, m)
	repository := s.repository("app")
	write(t, repository, map[string]string{"a": "not committed\n", "ignored": "2\n"})
	before := everyFile(t, s.workspace)
	made := created[api.Execution](s.client, harness.With(inMode("copy", nil), object{"workingDirectory": "app"}))
	s.finishes(made.Id, domain.StatusCompleted)
	printed := outputs(t, s.sound(made.Id))
	if want := "not committed\n2\n M a\n" + filepath.Base(filepath.Dir(made.WorkingDirectory)); printed[0] != want || *made.Workspace.From != repository {
		t.Errorf("the command printed %q, and the copy is of %v", printed[0], made.Workspace)
	}
	if diff := cmp.Diff(before, everyFile(t, s.workspace)); diff != "" {
		t.Errorf("the original has changed: %s", diff)
	}
}

// TestExecutionsInOneFolder are told of each other: the earlier one by its answer, the later one by its log and its model, too.
func TestExecutionsInOneFolder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		var informed atomic.Int32
		play := inTurn(calls("bash", object{"command": "until [ -e end ]; do sleep 0.02; done"}), finally("done"))
		m := newModel(t, func(a *answer, conversation []message) {
			if strings.Contains(system(conversation), "Other executions work in this folder") {
				informed.Add(1)
			}
			play(a, conversation)
		})
		s := up(t, e, m)
		must(t, os.MkdirAll(filepath.Join(s.workspace, "app", "sub"), 0o755))
		must(t, os.MkdirAll(filepath.Join(s.workspace, "other"), 0o755))
		in := func(folder string) string {
			id := s.create(goes(object{"workingDirectory": folder, "capabilities": mayAll, "safeMode": false})).ID
			s.reach(id, domain.StatusExecutingTool)
			return id
		}
		first, apart, second := in("app"), in("other"), in("app/sub")
		own := created[api.Execution](s.client, inMode("new", nil))
		alone := own.Id
		s.reach(alone, domain.StatusExecutingTool)
		beside := func(id string) []string {
			return *want[api.Execution](s.client, http.StatusOK, "GET", "/executions/"+id, nil).SharesFolderWith
		}
		for id, want := range map[string][]string{first: {second}, second: {first}, apart: {}, alone: {}} {
			if got := beside(id); !slices.Equal(got, want) {
				t.Errorf("beside %s are %q, want %q", id, got, want)
			}
		}
		for folder, id := range map[string]string{"app": first, "app/sub": second, "other": apart, own.WorkingDirectory: alone} {
			end := filepath.Join(folder, "end")
			if !filepath.IsAbs(folder) {
				end = filepath.Join(s.workspace, end)
			}
			must(t, os.WriteFile(end, nil, 0o644))
			s.finishes(id, domain.StatusCompleted)
			var told []domain.ExecutionID
			if id == second {
				told = []domain.ExecutionID{domain.ExecutionID(first)}
			}
			if started := of[domain.TurnStarted](t, s.sound(id)); !slices.Equal(started[0].SharesFolderWith, told) {
				t.Errorf("the log of %s names %q", id, started[0].SharesFolderWith)
			}
		}
		if ended := want[api.Execution](s.client, http.StatusOK, "GET", "/executions/"+first, nil); ended.SharesFolderWith != nil {
			t.Errorf("an ended execution has %q", *ended.SharesFolderWith)
		}
		if n := informed.Load(); n != 2 { // both requests of the later one
			t.Errorf("%d requests tell a model that it is not alone", n)
		}
	})
}

// TestAnOwnFolderOverAKill: the next server goes on in the folder, and removes what the dead one has left in the middle of making another.
func TestAnOwnFolderOverAKill(t *testing.T) {
	t.Parallel()
	m := newModel(t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			a.Say("done")
			return
		}
		a.Bash("git log --format=%s; cat kept; echo made > kept")
	})
	s := up(t, engine{}, m)
	s.repository("app")
	made := created[api.Execution](s.client, harness.With(inMode("worktree", nil), object{"workingDirectory": "app", "keepOpen": true}))
	s.reach(made.Id, domain.StatusIdle)
	s.kill()
	base := filepath.Dir(made.WorkingDirectory)
	half := filepath.Join(base, ".making-"+made.Id+"-x")
	must(t, os.MkdirAll(filepath.Join(half, "sub"), 0o755))
	must(t, os.Chtimes(half, time.Time{}, time.Now().Add(-24*time.Hour)))
	s.start()
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+made.Id+"/prompts", object{"prompt": "again"})
	s.eventually("the second turn has ended", func() bool { return len(of[domain.TurnEnded](t, s.page(made.Id))) == 2 })
	if printed := outputs(t, s.page(made.Id)); printed[1] != "first\nmade" {
		t.Errorf("after the kill the command printed %q", printed)
	}
	s.eventually("what the dead server has left is removed", func() bool {
		entries, err := os.ReadDir(base)
		return err == nil && len(entries) == 1 && entries[0].Name() == made.Id
	})
	must(t, os.RemoveAll(made.WorkingDirectory)) // and if the folder is lost, nobody works in an empty one
	s.kill()
	s.start()
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+made.Id+"/prompts", object{"prompt": "once more"})
	s.finishes(made.Id, domain.StatusFailed)
	if output := s.get(made.Id).Output; output.Error == nil || !strings.Contains(output.Error.Message, "is not on this server") {
		t.Errorf("without its folder it ended with %+v", output)
	}
}

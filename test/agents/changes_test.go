//go:build agents && linux

package agents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// TestChangesAreTakenBack lets two agents edit, write and delete files by tools of their own, of which Signoff sees only what is then on disk.
func TestChangesAreTakenBack(t *testing.T) {
	model := startMock(t)
	for _, a := range table {
		if a.name != "claude" && a.name != "opencode" {
			continue // fixtures.json has no calls of its file tools
		}
		t.Run(a.name, func(t *testing.T) {
			h := newHome(t, a, model.base)
			driver := host(t, h, newServer(t, h))
			driver.fields = object{"checkpoints": "required"}
			changesAndIsTakenBack(stage{T: t, home: h, conversation: driver, mock: model})
			driver.close()
		})
	}
}

// changesAndIsTakenBack: a person writes a file before the turn and one after it. Only what the agent did between them goes back, and comes again.
func changesAndIsTakenBack(s stage) {
	s.puts("edited.txt", "one\ntwo\n", 0o640)
	s.puts("deleted.txt", "one\r\ntwo", 0o700)
	s.prompt(plainPrompt)
	s.expect(s.ends(), completed, plainAnswer)
	s.puts("person.txt", "before the turn\n", 0o600)
	before := s.files()
	s.prompt(changePrompt)
	s.expect(s.hosted().approves(), completed, changeAnswer)

	diff := request[api.Diff](s.hosted().server, "GET", s.hosted().path("/diff?turn=2"), nil)
	s.same("the diff of the turn", []string{
		"deleted deleted.txt by uncertain, +0 -2\n--- a/deleted.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\r\n-two\n\\ No newline at end of file\n",
		"modified edited.txt by uncertain, +1 -1\n--- a/edited.txt\n+++ b/edited.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n",
		"added new/written.txt by uncertain, +1 -0\n--- /dev/null\n+++ b/new/written.txt\n@@ -0,0 +1,1 @@\n+by the agent\n",
	}, filesOf(diff))

	s.puts("later.txt", "after the turn\n", 0o600)
	after := s.files()
	before["later.txt"] = after["later.txt"]
	steps, _ := s.previews(object{"to": diff.From})
	s.same("the rollback that names no path", []string{
		"stays: deleted.txt, uncertain", "stays: edited.txt, uncertain", "stays: later.txt, changedByOthers",
		"stays: new, uncertain", "stays: new/written.txt, uncertain",
	}, steps)
	steps, rollback := s.previews(object{"to": diff.From, "paths": []string{"deleted.txt", "edited.txt", "later.txt", "new", "new/written.txt"}})
	s.same("the rollback that names all paths", []string{
		"delete new/written.txt", "delete new", "create deleted.txt", "restore edited.txt", "stays: later.txt, changedByOthers",
	}, steps)
	changed := s.newestCheckpoint()
	s.rollsBack(rollback)
	s.same("the files after the rollback", before, s.files())

	_, rollback = s.previews(object{"to": changed})
	s.rollsBack(rollback)
	s.same("the files after the rollback of the rollback", after, s.files())

	s.mock.forget(s.T)
	s.prompt(followPrompt)
	s.expect(s.ends(), completed, followAnswer)
	s.remembers("took back changes of files")
}

// puts writes a file as a person does.
func (s stage) puts(name, content string, mode fs.FileMode) {
	s.Helper()
	must(s.T, os.WriteFile(filepath.Join(s.workspace, name), []byte(content), mode))
}

// files is all that the working folder holds: by path the mode, and the content of a file.
func (s stage) files() map[string]string {
	s.Helper()
	held := map[string]string{}
	folder := os.DirFS(s.workspace)
	must(s.T, fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info := must2(entry.Info())(s.T)
		held[path] = info.Mode().String()
		if info.Mode().IsRegular() {
			held[path] += " " + string(must2(fs.ReadFile(folder, path))(s.T))
		}
		return nil
	}))
	return held
}

func (s stage) same(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s: want (-) and got (+) differ:\n%s", what, diff)
	}
}

// filesOf lists the files of a diff, each with its change and its text.
func filesOf(diff api.Diff) (files []string) {
	for _, folder := range diff.Folders {
		for _, file := range folder.Files {
			files = append(files, fmt.Sprintf("%s %s by %s, +%d -%d\n%s", file.Kind, file.Path, *file.By, file.Additions, file.Deletions, file.Diff))
		}
	}
	return files
}

// previews is what a rollback would do, and the request that does it.
func (s stage) previews(wanted object) (steps []string, rollback object) {
	s.Helper()
	plan := request[domain.RollbackPlan](s.hosted().server, "POST", s.hosted().path("/rollback"), harness.With(wanted, object{"dryRun": true}))
	for _, folder := range plan.Folders {
		for _, step := range folder.Steps {
			steps = append(steps, step.Action+" "+step.Path)
		}
		for _, kept := range folder.Kept {
			steps = append(steps, "stays: "+kept.Path+", "+kept.Reason)
		}
	}
	return steps, harness.With(wanted, object{"hash": plan.Hash})
}

func (s stage) rollsBack(rollback object) {
	s.Helper()
	if done := request[api.Rollback](s.hosted().server, "POST", s.hosted().path("/rollback"), rollback); done.State != domain.RollbackDone {
		s.Errorf("the rollback is %s: %+v", done.State, done.Error)
	}
}

// newestCheckpoint is the number of the last one.
func (s stage) newestCheckpoint() int {
	s.Helper()
	points := request[api.CheckpointPage](s.hosted().server, "GET", s.hosted().path("/checkpoints"), nil).Items
	return points[len(points)-1].Checkpoint.Checkpoint
}

package e2e

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/domain"
)

// changes are the changes that the checkpoints of a log report, each with those who made them.
func changes(t *testing.T, log []wireEvent) []string {
	t.Helper()
	var all []string
	for _, point := range of[domain.CheckpointCreated](t, log) {
		if point.Status != domain.CheckpointTaken {
			all = append(all, string(point.Status)+": "+point.Error.Message)
		}
		for _, folder := range point.Folders {
			for _, change := range folder.Changes {
				all = append(all, string(change.Kind)+" "+change.Path+" by "+string(change.By))
			}
		}
	}
	return all
}

// TestCheckpointsOfCommands: real commands in a real sandbox, file tools, and a person who writes beside a command.
func TestCheckpointsOfCommands(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, e engine) {
		m := newModel(t, inTurn(
			calls("bash", object{"command": "echo 2 > a; mkdir sub; echo inner > sub/b"}),
			calls("write", object{"path": "c", "content": "written\n"}),
			calls("bash", object{"command": "cat c"}),
			calls("bash", object{"command": "rm c; mv a d; chmod 755 d; until [ -e person ]; do sleep 0.02; done"}),
			finally("done"),
		))
		s := up(t, e, m)
		must(t, os.WriteFile(filepath.Join(s.workspace, "a"), []byte("1\n"), 0o644))
		id := s.create(object{"checkpoints": "required", "capabilities": object{"execute": "allow", "write": "allow"}}).ID
		s.eventually("the last command runs", func() bool {
			_, err := os.Stat(filepath.Join(s.workspace, "d"))
			return err == nil
		})
		must(t, os.WriteFile(filepath.Join(s.workspace, "person"), []byte("by a person\n"), 0o644))
		s.finishes(id, domain.StatusCompleted)
		log := s.sound(id)
		by := "execution"
		if os.Getuid() == 0 { // otherwise nobody can see the person
			by = "uncertain"
		}
		expected := []string{
			"modified a by execution", "added sub/b by execution", "added c by execution",
			"deleted c by " + by, "renamed d by " + by, "added person by " + by,
		}
		if diff := cmp.Diff(strings.Join(expected, "\n"), strings.Join(changes(t, log), "\n")); diff != "" {
			t.Errorf("want (-) and got (+) differ:\n%s", diff)
		}
		points := want[api.CheckpointPage](s.client, http.StatusOK, "GET", "/executions/"+id+"/checkpoints?limit=2", nil)
		if len(points.Items) != 2 || points.NextCursor == nil || points.Items[0].Checkpoint.Checkpoint != 1 || points.Mode != domain.CheckpointsRequired {
			t.Errorf("the first page: %+v", points)
		}
		rest := want[api.CheckpointPage](s.client, http.StatusOK, "GET", "/executions/"+id+"/checkpoints?after="+*points.NextCursor, nil)
		if len(rest.Items) != 2 || rest.NextCursor != nil {
			t.Errorf("the second page: %+v", rest)
		}
		requested := of[domain.ToolCallRequested](t, log)
		first, changesNothing := requested[0].ToolCallID, requested[2].ToolCallID
		for query, expected := range map[string]string{
			"?toolCallId=" + first:          "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-1\n+2\n" + "--- /dev/null\n+++ b/sub/b\n@@ -0,0 +1,1 @@\n+inner\n",
			"?toolCallId=" + changesNothing: "",
			"?from=2&to=3":                  "--- /dev/null\n+++ b/c\n@@ -0,0 +1,1 @@\n+written\n",
			"?turn=1": "--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-1\n" + "--- /dev/null\n+++ b/d\n@@ -0,0 +1,1 @@\n+2\n" +
				"--- /dev/null\n+++ b/person\n@@ -0,0 +1,1 @@\n+by a person\n" + "--- /dev/null\n+++ b/sub/b\n@@ -0,0 +1,1 @@\n+inner\n",
		} {
			if diff := cmp.Diff(expected, s.diff(id, query)); diff != "" {
				t.Errorf("%s: want (-) and got (+) differ:\n%s", query, diff)
			}
		}
		if whole := s.diff(id, ""); whole != s.diff(id, "?turn=1") {
			t.Errorf("the whole diff is\n%s", whole)
		}
		for _, query := range []string{"?from=9", "?from=3&to=2", "?turn=1&to=2", "?turn=2", "?toolCallId=unknown"} {
			s.refused(http.StatusUnprocessableEntity, "invalid", "GET", "/executions/"+id+"/diff"+query, nil)
		}
	})
}

// diff is the diff of an execution as one text.
func (c client) diff(id, query string) string {
	var text strings.Builder
	for _, folder := range want[api.Diff](c, http.StatusOK, "GET", "/executions/"+id+"/diff"+query, nil).Folders {
		for _, file := range folder.Files {
			text.WriteString(file.Diff)
		}
	}
	return text.String()
}

// TestARollbackOfAnExecutionThatHasEnded: a preview, then the rollback that it has shown, which is taken back in the same way. Files of others stay.
func TestARollbackOfAnExecutionThatHasEnded(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, e engine) {
		m := newModel(t, inTurn(
			calls("bash", object{"command": "echo agent > a; rm b; mkdir sub; echo agent > sub/c; chmod 600 d"}),
			finally("done"),
		))
		s := up(t, e, m)
		for _, name := range []string{"a", "b", "d"} {
			must(t, os.WriteFile(filepath.Join(s.workspace, name), []byte("before\n"), 0o755))
		}
		id := s.create(object{"checkpoints": "required"}).ID
		s.decide(s.asked(id, 1)[0])
		s.finishes(id, domain.StatusCompleted)
		log := s.sound(id)
		must(t, os.WriteFile(filepath.Join(s.workspace, "a"), []byte("by a person\n"), 0o644))
		must(t, os.WriteFile(filepath.Join(s.workspace, "person"), []byte("by a person\n"), 0o644))
		at := "/executions/" + id + "/rollback"
		plan := want[domain.RollbackPlan](s.client, http.StatusOK, "POST", at, object{"to": 1, "dryRun": true})
		var steps []string
		for _, step := range plan.Folders[0].Steps {
			steps = append(steps, step.Action+" "+step.Path)
		}
		if diff := cmp.Diff([]string{"delete sub/c", "delete sub", "create b", "mode d"}, steps); diff != "" {
			t.Errorf("the steps, want (-) and got (+), differ:\n%s", diff)
		}
		if diff := cmp.Diff([]domain.KeptPath{{Path: "a", Reason: "changedByOthers"}, {Path: "person", Reason: "changedByOthers"}}, plan.Folders[0].Kept); diff != "" {
			t.Errorf("what stays, want (-) and got (+), differs:\n%s", diff)
		}
		s.refused(http.StatusPreconditionRequired, "argumentsHashRequired", "POST", at, object{"to": 1})
		s.refused(http.StatusConflict, "previewOutdated", "POST", at, object{"to": 1, "hash": strings.Repeat("0", 64)})
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", at, object{"to": 99, "dryRun": true})
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", at, object{"to": 1, "dryRun": true, "paths": []string{"/etc/passwd"}})
		s.with(s.newKey("--name", "reader", "--scopes", "executions:read,executions:write")).refused(http.StatusForbidden, "forbidden", "POST", at, object{"to": 1, "dryRun": true})

		done := want[api.Rollback](s.client, http.StatusOK, "POST", at, object{"to": 1, "hash": plan.Hash})
		if done.State != domain.RollbackDone || done.Result.Folders[0].RestoredCount != 4 {
			t.Errorf("the rollback: %+v %+v", done, done.Result)
		}
		s.holds(map[string]string{"a": "by a person\n", "b": "before\n", "d": "before\n", "person": "by a person\n"})
		if info, err := os.Stat(filepath.Join(s.workspace, "d")); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("d: %v %v", info.Mode(), err)
		}
		if diff := cmp.Diff(len(log), len(s.sound(id))); diff != "" {
			t.Errorf("the log of an execution that has ended has grown: %s", diff)
		}
		rollbacks := want[api.RollbackList](s.client, http.StatusOK, "GET", "/executions/"+id+"/rollbacks", nil).Items
		if len(rollbacks) != 2 || rollbacks[0].State != domain.RollbackFailed || rollbacks[0].Error.Code != "previewOutdated" {
			t.Fatalf("the rollbacks: %+v", rollbacks)
		}
		before := done.Result.Checkpoints[0].Checkpoint
		plan = want[domain.RollbackPlan](s.client, http.StatusOK, "POST", at, object{"to": before, "dryRun": true})
		want[api.Rollback](s.client, http.StatusOK, "POST", at, object{"to": before, "hash": plan.Hash})
		s.holds(map[string]string{"a": "by a person\n", "sub/c": "agent\n", "d": "before\n", "person": "by a person\n"})
		actions := 0
		for _, entry := range want[api.AuditPage](s.client, http.StatusOK, "GET", "/audit?executionId="+id, nil).Items {
			if strings.Contains(string(entry.Record), `"rollback.`) {
				actions++
			}
		}
		if actions != 6 { // three were asked for, and three have ended
			t.Errorf("%d entries of the audit are about rollbacks", actions)
		}
	})
}

// TestARollbackOfALiveExecution: it waits for no approval and for no turn, and the model is told which files went back.
func TestARollbackOfALiveExecution(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, e engine) {
		heard := make(chan string, 10)
		m := newModel(t, func(a *answer, conversation []message) {
			switch said := last(conversation); {
			case said.Role == "tool" && strings.Contains(said.Content, "took back"), said.Role == "user" && strings.Contains(said.Content, "took back"):
				heard <- said.Content
				a.Say("heard")
			case said.Role == "tool":
				a.Bash("touch -- sudo-needs-a-person; rm -rf -- nothing")
			case said.Content == "wait":
				a.Say("waiting")
			default:
				a.Want("write", object{"path": "a", "content": "agent\n"})
			}
		})
		s := up(t, e, m)
		must(t, os.WriteFile(filepath.Join(s.workspace, "a"), []byte("before\n"), 0o644))
		id := s.create(object{"checkpoints": "required", "keepOpen": true, "capabilities": object{"write": "allow", "execute": "ask"}}).ID
		asked := s.asked(id, 1)[0]
		at := "/executions/" + id + "/rollback"
		plan := want[domain.RollbackPlan](s.client, http.StatusOK, "POST", at, object{"to": 1, "dryRun": true})
		done := want[api.Rollback](s.client, http.StatusOK, "POST", at, object{"to": 1, "hash": plan.Hash})
		if done.State != domain.RollbackDone || done.Result.Folders[0].RestoredCount != 1 {
			t.Errorf("the rollback: %+v %+v", done, done.Result)
		}
		s.holds(map[string]string{"a": "before\n"})
		s.decide(asked)
		if said := <-heard; !strings.Contains(said, `"a"`) {
			t.Errorf("the model heard %q", said)
		}
		s.reach(id, domain.StatusIdle)
		log := s.sound(id)
		if events := of[domain.RollbackCompleted](t, log); len(events) != 1 || events[0].To != 1 {
			t.Errorf("the log has %+v", events)
		}
	})
}

// holds compares the files of the workspace.
func (s *server) holds(expected map[string]string) {
	s.t.Helper()
	held := map[string]string{}
	must(s.t, filepath.WalkDir(s.workspace, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.workspace, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		held[name] = string(content)
		return err
	}))
	if diff := cmp.Diff(expected, held); diff != "" {
		s.t.Errorf("the workspace, want (-) and got (+), differs:\n%s", diff)
	}
}

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
)

// Where the documentation has the example that [TestSeed001] runs.
const (
	delegationPage = "docs/delegation.md"
	specialists    = "## An assistant with specialists"
)

// TestSeed001 runs the primary agent with its specialists as the page of delegation has it: an assistant that may do nothing itself asks a researcher, and then
// a writer, which is an external agent. People decide what the ceiling of the assistant wants to be asked about, and find in the inbox who asked whom.
func TestSeed001(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := newServer(t, e, newModel(t, office))
		create := s.employ()
		s.start()
		must(t, os.WriteFile(filepath.Join(s.workspace, "disks.txt"), []byte("disk-2 97%\n"), 0o600))

		var root execution
		s.shell(fmt.Sprintf("export SIGNOFF_URL=%s SIGNOFF_TOKEN=%s\n%s", s.Base, s.Token, create), &root)
		s.decide(s.askedFor(root.ID, "researcher", researcherTask), object{"decision": "deny"})
		s.decide(s.askedFor(root.ID, "writer", writerTask))

		end := s.ended(root.ID)
		if end.Status != string(domain.StatusCompleted) || !strings.Contains(end.Output.Text, "disk-2") || !strings.Contains(end.Output.Text, "It is in report.md.") {
			t.Errorf("the assistant ends as %s: %+v", end.Status, end.Output)
		}
		if report, err := os.ReadFile(filepath.Join(s.workspace, "report.md")); err != nil || string(report) != "disk-2 is full." {
			t.Errorf("the report: %q, %v", report, err)
		}
		s.holdsTogether(root.ID)
	})
}

// employ puts the profiles of the page into the configuration, with the scripted agent in the place of the external one and a scripted model in that of the
// demo, and returns the command that asks the assistant.
func (s *server) employ() (create string) {
	s.t.Helper()
	var profiles string
	for _, e := range examples(s.t, delegationPage) {
		switch {
		case e.heading != specialists:
		case e.language == "yaml":
			profiles = e.text
		default:
			create = e.text
		}
	}
	const demo = "models: {default: demo, demo: {provider: demo}}\n" // newServer has configured another
	if !strings.HasPrefix(profiles, demo) || !strings.Contains(profiles, "command: opencode}") || create == "" {
		s.t.Fatalf("%s, %s: the example is another one:\n%s%s", delegationPage, specialists, profiles, create)
	}
	config, err := os.OpenFile(filepath.Join(s.home, "signoff.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	must(s.t, err)
	defer config.Close()
	_, err = config.WriteString(strings.TrimPrefix(profiles, demo))
	must(s.t, err)
	s.section("agents", object{"opencode": object{"command": acptest.Build(s.t), "home": "shared", "mode": ""}})
	return create
}

const (
	researcherTask = "Which disk is full?"
	writerTask     = "Write a report: disk-2 is full."
)

// office is the model of the assistant and of the researcher. The writer has its own, which does what its prompt says.
func office(a *answer, conversation []message) {
	for _, m := range conversation {
		if m.Role == "user" && m.Content == researcherTask {
			researches(a, conversation)
			return
		}
	}
	coordinates(a, conversation)
}

var coordinates = inTurn(
	calls("delegate", object{"profile": "researcher", "prompt": researcherTask}),
	calls("delegate", object{"profile": "writer", "write": true, "prompt": writerTask + "\n" + acptest.Prompt(
		`ask c1 kind=edit title="Write report.md" input={"path":"report.md"}`, `if c1 allowed file report.md disk-2 is full.`, `if c1 allowed say It is in report.md.`)}),
	repeatsResults,
)

var researches = inTurn(
	calls("web_fetch", object{"url": "https://wiki.internal.example/disks"}),
	calls("web_fetch", object{"url": "https://disks.example/"}),
	calls("read", object{"path": "disks.txt"}),
	func(a *answer, conversation []message) { a.Say("I have read: ", last(conversation).Content) },
)

// askedBelow is an approval of a child, as the inbox shows it.
type askedBelow struct {
	approval

	Root string            `json:"root"`
	Path []domain.PathStep `json:"path"`
}

// askedFor waits for the only question of the inbox, and expects that a specialist of the execution asks it.
func (s *server) askedFor(root, name, task string) approval {
	s.t.Helper()
	var inbox []askedBelow
	s.eventually("a question of the "+name, func() bool {
		inbox = want[list[askedBelow]](s.client, http.StatusOK, "GET", "/approvals?status=pending", nil).Items
		if e := s.get(root); len(inbox) == 0 && domain.Status(e.Status).Terminal() {
			s.t.Fatalf("the root has ended as %s before the %s asked: %+v", e.Status, name, e.Output)
		}
		return len(inbox) > 0
	})
	a := inbox[0]
	if len(inbox) != 1 || a.Root != root || len(a.Path) != 2 || string(a.Path[0].Execution) != root || a.Path[0].Name != "assistant" ||
		string(a.Path[1].Execution) != a.ExecutionID || a.Path[1].Name != name || !strings.HasPrefix(a.Path[1].Asked, task) {
		s.t.Fatalf("the %s was to ask, and the inbox has %+v", name, inbox)
	}
	return a.approval
}

// holdsTogether expects the two specialists below the root, each with its call, and all three at their end with sound logs.
func (s *server) holdsTogether(root string) {
	s.t.Helper()
	type member struct {
		ID     string
		Parent *struct{ ExecutionID, Root, ToolCallID, Name string }
	}
	tree := want[list[member]](s.client, http.StatusOK, "GET", "/executions/"+root+"/tree", nil).Items
	var delegated []string // the calls of the root, in their order
	for _, call := range of[domain.ToolCallRequested](s.t, s.page(root)) {
		delegated = append(delegated, call.ToolCallID)
	}
	var names, made []string
	for _, e := range tree {
		if end := s.ended(e.ID); end.Status != string(domain.StatusCompleted) { // a child that rests is closed after its root has ended
			s.t.Errorf("%s ends as %s", e.ID, end.Status)
		}
		s.sound(e.ID)
		if e.Parent == nil {
			continue
		}
		if e.Parent.ExecutionID != root || e.Parent.Root != root {
			s.t.Errorf("%s has the parent %+v", e.ID, e.Parent)
		}
		names, made = append(names, e.Parent.Name), append(made, e.Parent.ToolCallID)
	}
	if len(tree) != 3 || tree[0].ID != root {
		s.t.Errorf("the tree: %+v", tree)
	}
	if diff := cmp.Diff([]string{"researcher", "writer"}, names); diff != "" {
		s.t.Errorf("the children (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(delegated, made); diff != "" {
		s.t.Errorf("the calls that made the children (-want +got):\n%s", diff)
	}
}

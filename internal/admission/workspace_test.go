package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// work is the default root of [folder].
const work = "/work"

// someFolders are own folders of a server on which /work is a repository.
type someFolders struct{}

func (someFolders) Base() string { return "/data/workspaces" }

func (someFolders) Repository(_ context.Context, folder string, inSight func(string) bool) (domain.Repository, error) {
	if !inSight("/work") || inSight("/data") || inSight("/srv/app") {
		return domain.Repository{}, domain.Invalid("/workingDirectory", "It is out of sight.")
	}
	return domain.Repository{WorkTree: "/work", GitDir: work + "/.git", Objects: []string{work + "/.git/objects"}, Commit: "c1"}, nil
}

func TestTheWorkspaceOfARequest(t *testing.T) {
	repository, err := someFolders{}.Repository(t.Context(), "", func(path string) bool { return path == "/work" })
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]struct {
		own       *domain.OwnFolder
		directory string
		warnings  int
	}{
		``:                                       {nil, "/work", 0},
		`"workspace":{},"workingDirectory":"a",`: {nil, work + "/a", 0},
		`"workspace":{"mode":"shared","keep":true},`:              {nil, "/work", 0},
		`"workspace":{"mode":"new"},`:                             {&domain.OwnFolder{Mode: domain.WorkspaceNew, Keep: true}, "/data/workspaces", 0},
		`"workspace":{"mode":"copy","keep":false},`:               {&domain.OwnFolder{Mode: domain.WorkspaceCopy, From: "/work"}, "/work", 0},
		`"workspace":{"mode":"worktree"},"workingDirectory":"a",`: {&domain.OwnFolder{Mode: domain.WorkspaceWorktree, Keep: true, From: work + "/a", Repository: &repository}, work + "/a", 1},
	} {
		request, err := newAdmission().Admit(t.Context(), anybody, bodyOf(t, "{"+body+valid+"}"), nil)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want.own, request.OwnFolder); diff != "" || request.WorkingDirectory != want.directory || len(request.Warnings) != want.warnings {
			t.Errorf("%s: in %s, with %v: %s", body, request.WorkingDirectory, request.Warnings, diff)
		}
		if (request.Requires == domain.RequiresOwnFolder) != (want.own != nil) {
			t.Errorf("%s requires %d", body, request.Requires)
		}
	}
	may := anybody
	may.Scopes = append([]string{string(keys.EnvironmentsUse)}, anybody.Scopes...)
	for body, at := range map[string]string{
		`"workspace":{"keep":false},`:                                                            "/workspace/keep",
		`"workspace":{"mode":"new"},"workingDirectory":"a",`:                                     "/workingDirectory",
		`"workspace":{"mode":"copy"},"environment":"app","workingDirectory":"/srv/app",`:         "/workingDirectory",
		`"workspace":{"mode":"worktree"},"environment":"app","workingDirectory":"/srv/app/sub",`: "/workingDirectory",
		`"workspace":{"mode":"new"},"resumeFrom":"` + someID + `",`:                              "/workspace",
		`"workingDirectory":"/data/workspaces/` + someID + `",`:                                  "/workingDirectory",
	} {
		_, err := newAdmission().Admit(t.Context(), may, bodyOf(t, "{"+body+valid+"}"), nil)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid || len(coded.Details) == 0 || coded.Details[len(coded.Details)-1].Pointer != at {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// An external agent that continues its session works where it has worked, also in an own folder, which no other request can name. So does a child.
func TestContinuingInAnOwnFolder(t *testing.T) {
	folder := "/data/workspaces/" + someID
	clone := &domain.Clone{Folder: folder, ObjectStores: []string{work + "/.git/objects"}}
	earlier := domain.Execution{ID: someID, Tenant: "default", Status: domain.StatusCompleted, Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mock"}, WorkingDirectory: folder, Clone: clone, Requires: domain.RequiresOwnFolder,
		OwnFolder: &domain.OwnFolder{Mode: domain.WorkspaceWorktree},
	}}
	a := newAdmission(func(c *Config) { c.Executions = executions{someID: stored{Execution: earlier}} })
	for _, named := range []string{"", `"workingDirectory":"` + folder + `",`} {
		body := `{"source":{"type":"acp","command":"mock"},"prompt":"x",` + named + `"resumeFrom":"` + someID + `"}`
		request, err := a.Admit(t.Context(), anybody, bodyOf(t, body), nil)
		if err != nil || request.WorkingDirectory != folder || request.Clone != clone || request.OwnFolder != nil || request.Requires != domain.RequiresOwnFolder {
			t.Errorf("%q: %+v %v", named, request, err)
		}
	}
	body := `{"source":{"type":"acp","command":"mock"},"prompt":"x","workingDirectory":"` + strings.Replace(folder, "0000", "0001", 1) + `","resumeFrom":"` + someID + `"}`
	if _, err := a.Admit(t.Context(), anybody, bodyOf(t, body), nil); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("the folder of another execution: %v", err)
	}
}

// A child works in the own folder of its parent, which an older server could not open for it.
func TestAChildInAnOwnFolder(t *testing.T) {
	folder := "/data/workspaces/" + someID
	parent := lead(func(e *domain.Execution) {
		e.Request.WorkingDirectory, e.Request.Requires = folder, domain.RequiresOwnFolder
		e.Request.OwnFolder, e.Request.Clone = &domain.OwnFolder{Mode: domain.WorkspaceWorktree}, &domain.Clone{Folder: folder}
	})
	got, err := newAdmission(withChildren).child(t, parent, `{"profile":"granted-dba"}`)
	if err != nil || got.WorkingDirectory != folder || got.Clone != parent.Request.Clone || got.OwnFolder != nil || got.Requires != domain.RequiresOwnFolder {
		t.Errorf("%+v %v", got, err)
	}
}

package admission

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"signoff/api"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/secrets"
)

// canary is the value of a secret.
const canary = "canary-4f1e9c-value"

// anybody may create and read.
var anybody = keys.Principal{Tenant: "default", Scopes: []string{string(keys.ExecutionsWrite), string(keys.ExecutionsRead), string(keys.MCPUse)}}

const (
	valid  = `"source":{"type":"internal"},"prompt":"say x"`
	someID = "01890000-0000-7000-8000-000000000000"
)

func newAdmission(change ...func(*Config)) *Admission {
	config := Config{
		Executions: executions{}, Models: admissiontest.Models{"demo", "dear"}, Agents: admissiontest.Agents{},
		Tools: admissiontest.Tools{"bash", "think"}, Secrets: admissiontest.Secrets{"github"}, Masker: secrets.NewMasker(canary),
		Templates: &admissiontest.Templates{}, Workspace: folder("/work"), Environments: admissiontest.Environments(), MCPServers: admissiontest.MCPServers{},
		Profiles: someProfiles{}, Folders: someFolders{},
	}
	for _, c := range change {
		c(&config)
	}
	return New(config)
}

// folder is a workspace that only looks at names.
type folder string

func (f folder) Resolve(directory string, mounts ...string) (string, error) {
	if slices.Contains(mounts, filepath.Dir(directory)) || slices.Contains(mounts, directory) {
		return directory, nil
	}
	absolute := filepath.Join(string(f), directory)
	if !strings.HasPrefix(absolute+"/", string(f)+"/") || filepath.IsAbs(directory) {
		return "", domain.Errorf(domain.CodeInvalid, "The folder lies outside of the workspace.")
	}
	return absolute, nil
}

func (f folder) InDefault(absolute string) bool {
	return strings.HasPrefix(absolute+"/", string(f)+"/")
}

func (f folder) RootOf(absolute string) string {
	if f.InDefault(absolute) {
		return string(f)
	}
	return ""
}

// executions are stored ones, with their logs.
type executions map[domain.ExecutionID]stored

type stored struct {
	domain.Execution
	log     []domain.Event
	offered []domain.AgentOption
}

func (e executions) Execution(_ context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error) {
	if known, is := e[id]; is && known.Tenant == tenant {
		return known.Execution, nil
	}
	return domain.Execution{}, domain.Errorf(domain.CodeNotFound, "There is no such execution.")
}

func (e executions) ExecutionByKey(_ context.Context, tenant domain.TenantID, key string) (domain.Execution, []byte, error) {
	known, err := e.Execution(nil, tenant, domain.ExecutionID(key)) //nolint:staticcheck // it is not used
	return known, nil, err
}

func (e executions) PromptByKey(_ context.Context, id domain.ExecutionID, key string) (domain.QueuedPrompt, []byte, error) {
	if key == "used" {
		return domain.QueuedPrompt{Execution: id}, nil, nil
	}
	return domain.QueuedPrompt{}, nil, domain.Errorf(domain.CodeNotFound, "There is no such prompt.")
}

// EventPage gives events one by one, so that a reader has to come back.
func (e executions) EventPage(_ context.Context, id domain.ExecutionID, after int64, _, _ int) ([]domain.Event, error) {
	if log := e[id].log; after < int64(len(log)) {
		return log[after : after+1], nil
	}
	return nil, nil
}

func (e executions) AgentOptions(_ context.Context, id domain.ExecutionID) ([]domain.AgentOption, error) {
	return e[id].offered, nil
}

// admit admits a body for anybody.
func (a *Admission) admit(t *testing.T, body string) (domain.Request, error) {
	t.Helper()
	return a.Admit(t.Context(), anybody, bodyOf(t, body), nil)
}

func bodyOf(t *testing.T, text string) (body api.CreateExecution) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	must(t, decoder.Decode(&body))
	return body
}

// admitted admits a body that nothing is wrong with.
func (a *Admission) admitted(t *testing.T, body string) domain.Request {
	t.Helper()
	request, err := a.admit(t, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return request
}

// badInput is a body that the document allows, and that is refused here.
type badInput struct {
	name, body string
	code       domain.Code
	pointer    string
}

// refuses holds an error against what is wrong, and against secrets.
func refuses(t *testing.T, row badInput, err error) {
	t.Helper()
	var coded *domain.Error
	switch {
	case !errors.As(err, &coded):
		t.Errorf("%s: %v, want %s at %q", row.name, err, row.code, row.pointer)
	case len(coded.Details) == 0 || coded.Code != row.code || coded.Details[0].Pointer != row.pointer:
		t.Errorf("%s: %s at %v, want %s at %q", row.name, coded.Code, coded.Details, row.code, row.pointer)
	case strings.Contains(err.Error(), canary):
		t.Errorf("%s: the error holds a secret: %v", row.name, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package admission

import (
	"errors"
	"testing"

	"signoff/api"
	"signoff/internal/domain"
)

// TestFurtherRequestsOfAnExecution: each is held against the execution that it is for.
func TestFurtherRequestsOfAnExecution(t *testing.T) {
	of := func(id domain.ExecutionID, status domain.Status, source domain.Source) stored {
		return stored{
			Execution: domain.Execution{ID: id, Tenant: "default", Status: status, Request: domain.Request{Source: source, Runbook: domain.Runbook{Document: &domain.Document{ID: "disks"}, InsertAfter: "b2"}}},
			offered:   []domain.AgentOption{{ID: "effort", Choices: []domain.AgentChoice{{Value: "low"}}}},
		}
	}
	a := newAdmission(func(c *Config) {
		c.Executions = executions{
			"ours":   of("ours", domain.StatusIdle, domain.Source{Type: domain.SourceInternal}),
			"mock":   of("mock", domain.StatusInterrupted, domain.Source{Type: domain.SourceACP, Command: "mock"}),
			"absent": of("absent", domain.StatusInterrupted, domain.Source{Type: domain.SourceACP, Command: "absent"}),
		}
	})
	prompt := func(id domain.ExecutionID, effort, key string) error {
		_, err := a.AdmitPrompt(t.Context(), anybody, id, api.PromptExecution{Prompt: api.PromptInput{Text: "go on"}, Options: map[string]string{"effort": effort}}, key)
		return err
	}
	edit := func(id domain.ExecutionID, blocks string) error {
		return a.AdmitEdit(t.Context(), anybody, id, &domain.Document{Blocks: []byte(blocks)})
	}
	editOf := func(document string) error {
		return a.AdmitEdit(t.Context(), anybody, "ours", &domain.Document{ID: document, Blocks: []byte(`[{"id":"b2"}]`)})
	}
	resume := func(id domain.ExecutionID, mode domain.ResumeMode) error {
		return a.AdmitResume(t.Context(), anybody, id, mode)
	}
	accepted, err := a.AdmitPrompt(t.Context(), anybody, "ours", api.PromptExecution{Prompt: api.PromptInput{Text: "go on"}}, "")
	if accepted.Text != "go on" || accepted.WhenBusy != domain.WhenBusyEnqueue {
		t.Errorf("accepted is %+v", accepted)
	}
	for name, err := range map[string]error{
		"no options":                       err,
		"an option that is offered":        prompt("mock", "low", ""),
		"what was taken in stays so":       prompt("mock", "max", "used"),
		"an edit without a document":       a.AdmitEdit(t.Context(), anybody, "ours", nil),
		"a place that is still there":      edit("ours", `[{"id":"b1","children":[{"id":"b2"}]}]`),
		"the same document":                editOf("disks"),
		"a document that is not named":     editOf(""),
		"blocks without ids":               edit("ours", `[{"type":"a"}]`),
		"an agent that is there":           resume("mock", domain.ResumeLoad),
		"giving up needs no agent":         resume("absent", domain.ResumeFail),
		"the sessions miss an execution":   resume("nobody", domain.ResumeLoad),
		"what is not interrupted is asked": resume("ours", domain.ResumeFresh),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, row := range []struct {
		name    string
		err     error
		code    domain.Code
		pointer string
	}{
		{"options of the internal agent", prompt("ours", "low", ""), domain.CodeInvalid, "/options"},
		{"an option that is not offered", prompt("mock", "max", "new"), domain.CodeInvalid, "/options/effort"},
		{"options of nobody", prompt("nobody", "low", ""), domain.CodeNotFound, ""},
		{"another document", editOf("memory"), domain.CodeInvalid, "/document/id"},
		{"a place that is gone", edit("ours", `[{"id":"b1"}]`), domain.CodeInvalid, "/document/blocks"},
		{"an agent that is gone", resume("absent", domain.ResumeFresh), domain.CodeAgentUnavailable, ""},
	} {
		var coded *domain.Error
		if !errors.As(row.err, &coded) || coded.Code != row.code || (row.pointer != "" && coded.Details[0].Pointer != row.pointer) {
			t.Errorf("%s: %v", row.name, row.err)
		}
	}
}

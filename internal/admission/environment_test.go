package admission

import (
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

func TestTheEnvironmentOfARequest(t *testing.T) {
	may := anybody
	may.Scopes = append([]string{string(keys.EnvironmentsUse)}, anybody.Scopes...)
	admitted := func(by keys.Principal, environment string) (domain.EnvironmentChoice, error) {
		body := "{" + valid + "}"
		if environment != "" {
			body = `{"environment":` + environment + "," + valid + "}"
		}
		request, err := newAdmission().Admit(t.Context(), by, bodyOf(t, body), nil)
		return request.Environment, err
	}
	byDefault, err := admitted(anybody, "")
	if err != nil || byDefault.Name != "workspace" || len(byDefault.Digest) != 64 {
		t.Errorf("%+v %v", byDefault, err)
	}
	if same, err := admitted(anybody, `"workspace"`); err != nil || same.Digest != byDefault.Digest {
		t.Errorf("%+v %v", same, err)
	}
	app, err := admitted(may, `{"name":"app","readOnly":true,"mounts":["/srv/app"],"hosts":["db.corp.example"]}`)
	if err != nil || app.Name != "app" || app.Digest == byDefault.Digest || !app.ReadOnly {
		t.Errorf("%+v %v", app, err)
	}
	if whole, err := admitted(may, `"app"`); err != nil || whole.Digest == app.Digest {
		t.Errorf("%+v %v", whole, err)
	}
	for name, refusal := range map[string]struct {
		by          keys.Principal
		environment string
		code        domain.Code
		at          string
	}{
		"without the scope": {anybody, `"app"`, domain.CodeForbidden, "/environment"},
		"unknown":           {may, `"other"`, domain.CodeInvalid, "/environment"},
		"not built":         {may, `"machine"`, domain.CodeEnvironmentUnavailable, "/environment"},
		"more mounts":       {may, `{"name":"app","mounts":["/etc"]}`, domain.CodeInvalid, "/environment/mounts/0"},
		"more hosts":        {may, `{"name":"app","hosts":["*.example"]}`, domain.CodeInvalid, "/environment/hosts/0"},
	} {
		_, err := admitted(refusal.by, refusal.environment)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != refusal.code || len(coded.Details) != 1 || coded.Details[0].Pointer != refusal.at {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An agent that the operator has put into an environment runs there, for everybody who may use the agent. A request narrows it, and chooses no other.
func TestTheEnvironmentOfAnIsolatedAgent(t *testing.T) {
	may := anybody
	may.Scopes = append([]string{string(keys.EnvironmentsUse)}, anybody.Scopes...)
	admitted := func(environment string) (domain.EnvironmentChoice, error) {
		body := `{"source": {"type": "acp", "command": "isolated"}, "prompt": "x"` + environment + `}`
		request, err := newAdmission().Admit(t.Context(), anybody, bodyOf(t, body), nil)
		return request.Environment, err
	}
	whole, err := admitted("")
	if err != nil || whole.Name != "app" || len(whole.Digest) != 64 {
		t.Errorf("%+v %v", whole, err)
	}
	if named, err := admitted(`, "environment": "app"`); err != nil || named.Digest != whole.Digest {
		t.Errorf("%+v %v", named, err)
	}
	if narrowed, err := admitted(`, "environment": {"readOnly": true}`); err != nil || narrowed.Name != "app" || !narrowed.ReadOnly || narrowed.Digest == whole.Digest {
		t.Errorf("%+v %v", narrowed, err)
	}
	for _, by := range []keys.Principal{anybody, may} {
		body := `{"source": {"type": "acp", "command": "isolated"}, "prompt": "x", "environment": "workspace"}`
		_, err := newAdmission().Admit(t.Context(), by, bodyOf(t, body), nil)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != domain.CodeInvalid || coded.Details[0].Pointer != "/environment" {
			t.Errorf("another environment: %v", err)
		}
	}
	if outside, err := newAdmission().Admit(t.Context(), anybody, bodyOf(t, `{"source": {"type": "acp", "command": "mock"}, "prompt": "x"}`), nil); err != nil || outside.Environment.Name != "workspace" {
		t.Errorf("an agent that is not isolated: %+v %v", outside.Environment, err)
	}
}

// A request works in a mount that its environment may write. One that the request leaves out is none, and one that readOnly closes still is.
func TestWorkingInAMount(t *testing.T) {
	may := anybody
	may.Scopes = append([]string{string(keys.EnvironmentsUse)}, anybody.Scopes...)
	for name, c := range map[string]struct {
		environment, directory string
		code                   domain.Code
	}{
		"the mount":                {`"app"`, "/srv/app", ""},
		"in the mount":             {`"app"`, "/srv/app/sub", ""},
		"read-only":                {`{"name":"app","readOnly":true}`, "/srv/app", ""},
		"a mount for reading":      {`"app"`, "/var/log/app", domain.CodeInvalid},
		"for reading, read-only":   {`{"name":"app","readOnly":true}`, "/var/log/app", domain.CodeInvalid},
		"left out":                 {`{"name":"app","mounts":["/var/log/app"]}`, "/srv/app", domain.CodeInvalid},
		"of another environment":   {`"workspace"`, "/srv/app", domain.CodeInvalid},
		"whose owner is no one's":  {`"app"`, "/srv/app/foreign", domain.CodeEnvironmentUnavailable},
		"the workspace as ever":    {`"app"`, "sub", ""},
		"the default in workspace": {`"workspace"`, "", ""},
	} {
		body := `{"environment":` + c.environment + `,"workingDirectory":"` + c.directory + `",` + valid + `}`
		request, err := newAdmission().Admit(t.Context(), may, bodyOf(t, body), nil)
		if c.code == "" {
			plain := c.environment == `"workspace"`
			if err != nil || strings.HasPrefix(c.directory, "/") && request.WorkingDirectory != c.directory || (request.Requires == 0) != plain {
				t.Errorf("%s: %s requires %d, %v", name, request.WorkingDirectory, request.Requires, err)
			}
			continue
		}
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != c.code || len(coded.Details) != 1 || coded.Details[0].Pointer != "/workingDirectory" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whoever continues an agent session works where it worked, as narrowly, and needs the scope for it.
func TestTheEnvironmentOfAResumedSession(t *testing.T) {
	earlier := domain.Execution{ID: "0190a0a0-0000-7000-8000-000000000001", Tenant: "default", Request: domain.Request{
		Environment: domain.EnvironmentChoice{Name: "app", ReadOnly: true, Digest: "of another day"},
	}}
	older := domain.Execution{ID: "0190a0a0-0000-7000-8000-000000000002", Tenant: "default"} // made before there were environments
	a := newAdmission(func(c *Config) {
		c.Executions = executions{earlier.ID: {Execution: earlier}, older.ID: {Execution: older}}
	})
	may := anybody
	may.Scopes = append([]string{string(keys.EnvironmentsUse)}, anybody.Scopes...)
	admit := func(by keys.Principal, id domain.ExecutionID, more string) (domain.EnvironmentChoice, error) {
		body := `{"source":{"type":"acp","command":"mock"},"prompt":"go on","resumeFrom":"` + string(id) + `"` + more + `}`
		request, err := a.Admit(t.Context(), by, bodyOf(t, body), nil)
		return request.Environment, err
	}
	carried, err := admit(may, earlier.ID, "")
	if err != nil || carried.Name != "app" || !carried.ReadOnly || len(carried.Digest) != 64 {
		t.Errorf("%+v %v", carried, err)
	}
	if _, err := admit(anybody, earlier.ID, ""); domain.CodeOf(err) != domain.CodeForbidden {
		t.Error("without the scope:", err)
	}
	if chosen, err := admit(anybody, earlier.ID, `,"environment":"workspace"`); err != nil || chosen.Name != "workspace" || chosen.ReadOnly {
		t.Errorf("%+v %v", chosen, err)
	}
	for _, id := range []domain.ExecutionID{older.ID, "0190a0a0-0000-7000-8000-000000000003"} {
		if byDefault, err := admit(anybody, id, ""); err != nil || byDefault.Name != "workspace" {
			t.Errorf("%s: %+v %v", id, byDefault, err)
		}
	}
}

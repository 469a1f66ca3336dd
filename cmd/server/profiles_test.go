package main

import (
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/profiles"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

const demoModelYAML = "models: {default: demo, demo: {provider: demo}}\n"

func TestMistakesInAgentProfiles(t *testing.T) {
	for entry, want := range map[string][]string{
		"a b: {source: {type: internal}}":               {"agentProfiles.a b", "is not a name"},
		"p: {}":                                         {"agentProfiles.p", "source"},
		"p: {source: {type: intern}}":                   {"agentProfiles.p.source.type", "internal", ">  3 |"},
		"p: {source: {type: internal}, capability: {}}": {"agentProfiles.p.capability"},
		"p: {source: {type: internal}, capabilities: {write: maybe}}": {"agentProfiles.p.capabilities.write"},
		"p: {source: {type: internal}, tenants: acme}":                {"agentProfiles.p.tenants", "list of tenants"},
		"p: {source: {type: internal}, tenants: []}":                  {"agentProfiles.p.tenants", "list of tenants"},
		"p: {source: {type: internal}, budget: {tokens: 0}}":          {"agentProfiles.p.budget.tokens"},
	} {
		file, err := written(t, demoModelYAML+"agentProfiles:\n  "+entry+"\n").readConfigFile()
		if err == nil {
			_, err = file.openProfiles(secrets.NewMasker())
		}
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
}

func TestAgentProfilesOfTheFile(t *testing.T) {
	file, err := written(t, demoModelYAML+"agentProfiles:\n  dba: {description: Looks, source: {type: internal}, environment: machine, tenants: [acme]}\n").readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := file.openProfiles(secrets.NewMasker())
	dba := opened["dba"]
	if err != nil || !dba.Of("acme") || dba.Of(domain.DefaultTenant) || dba.Version != 0 || !strings.Contains(string(dba.Definition), `"environment":{"name":"machine"}`) ||
		strings.Contains(string(dba.Definition), "tenants") {
		t.Errorf("%+v %s, %v", dba, dba.Definition, err)
	}
}

// TestDoctorJudgesAgentProfiles says what the start would refuse, what this machine lacks, and what is hidden.
func TestDoctorJudgesAgentProfiles(t *testing.T) {
	const config = demoModelYAML + "agents: {absent: {command: /no/such/program}}\nagentProfiles:\n" +
		"  dba: {description: Looks only, source: {type: internal}}\n  far: {source: {type: acp, command: absent}}\n  lost: {source: {type: internal, model: gone}}\n"
	out, err := doctorWith(t, config, "--no-requests")
	for _, line := range []string{"ok    agent profile dba      Looks only", "-     agent profile far      requests cannot use it", "FAIL  agent profile lost"} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	if err == nil {
		t.Error("an unknown model is no mistake")
	}
}

// TestDoctorWarnsOfHiddenProfiles: a key has made a profile before the operator took its name.
func TestDoctorWarnsOfHiddenProfiles(t *testing.T) {
	config := Config{DataDir: t.TempDir()}
	s, err := store.Open(t.Context(), config.storeConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tenant := range []domain.TenantID{"acme", "other"} {
		_, err := s.CreateAgentProfile(t.Context(), domain.AgentProfile{Tenant: tenant, Name: "dba", Definition: []byte(`{}`)}, domain.AuditRecord{Action: "agentProfile.created"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	d := &diagnosis{out: &out, masker: secrets.NewMasker()}
	d.hiddenProfiles(t.Context(), config, map[string]profiles.Operator{"dba": {Tenants: []domain.TenantID{"acme"}}, "free": {}})
	if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "tenant acme") || d.broken {
		t.Errorf("%s", &out)
	}
}

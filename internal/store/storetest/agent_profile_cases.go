package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"signoff/internal/domain"
)

func profile(name, definition string) domain.AgentProfile {
	return domain.AgentProfile{
		Tenant: tenant, Name: name, Definition: json.RawMessage(definition), Grants: []string{"environments:use", "mcp:use:files"}, By: someone,
	}
}

// hasProfile compares what is read of a profile; version 0 reads the newest.
func (w *world) hasProfile(want domain.AgentProfile, version int) {
	w.Helper()
	got := ok(w.s.AgentProfile(w.ctx, want.Tenant, want.Name, version))(w)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(domain.AgentProfile{}, "Deleted", "Since")); diff != "" {
		w.Error(diff)
	}
}

func profileRoundTrip(w *world) {
	first := ok(w.s.CreateAgentProfile(w.ctx, profile("dba", `{"description": "a <b>"}`), record("agentProfile.created")))(w)
	if first.Version != 1 || first.Created.IsZero() {
		w.Errorf("%+v", first)
	}
	w.hasProfile(first, 0)
	next := profile("dba", `{"description":"b"}`)
	next.Version, next.Grants = 1, []string{}
	second := ok(w.s.ReplaceAgentProfile(w.ctx, next, record("agentProfile.replaced")))(w)
	w.hasProfile(second, 0)
	w.hasProfile(first, 1) // as it was
	foreign := profile("dba", `{}`)
	foreign.Tenant = "other"
	w.must(errorOf(w.s.CreateAgentProfile(w.ctx, foreign, record("agentProfile.created"))))
	other := ok(w.s.CreateAgentProfile(w.ctx, profile("a", `{}`), record("agentProfile.created")))(w)
	page := ok(w.s.AgentProfiles(w.ctx, tenant, "", 1))(w)
	rest := ok(w.s.AgentProfiles(w.ctx, tenant, page.Next, 1))(w)
	if diff := cmp.Diff([]domain.AgentProfile{other, second}, append(page.Items, rest.Items...)); diff != "" || rest.Next != "" {
		w.Error(diff, rest.Next)
	}
	if all := ok(w.s.AgentProfilesNamed(w.ctx, "dba"))(w); len(all) != 2 || all[0].Version != 2 || all[1].Tenant != "other" {
		w.Errorf("%+v", all)
	}

	w.must(w.s.DeleteAgentProfile(w.ctx, tenant, "dba", record("agentProfile.deleted")))
	w.hasProfile(first, 1)
	w.hasProfile(second, 2)
	if one := ok(w.s.AgentProfile(w.ctx, tenant, "dba", 1))(w); one.Deleted == nil {
		w.Error("a version of a deleted profile does not say so")
	}
	if all := ok(w.s.AgentProfilesNamed(w.ctx, "dba"))(w); len(all) != 1 {
		w.Errorf("%+v", all)
	}
	again := ok(w.s.CreateAgentProfile(w.ctx, profile("dba", `{"description":"c"}`), record("agentProfile.created")))(w)
	if again.Version != 3 {
		w.Errorf("made again, it has the version %d", again.Version)
	}
	w.hasProfile(again, 0)
	if n := len(w.chain(tenant)); n != 5 {
		w.Errorf("%d entries for 5 changes", n)
	}
}

// errorOf drops the result of a call.
func errorOf[T any](_ T, err error) error { return err }

func profileRefusals(w *world) {
	made := ok(w.s.CreateAgentProfile(w.ctx, profile("dba", `{}`), record("agentProfile.created")))(w)
	gone := ok(w.s.CreateAgentProfile(w.ctx, profile("gone", `{}`), record("agentProfile.created")))(w)
	w.must(w.s.DeleteAgentProfile(w.ctx, tenant, "gone", record("agentProfile.deleted")))
	w.unaudited(func() {
		w.refused(errorOf(w.s.CreateAgentProfile(w.ctx, profile("dba", `{}`), record("x"))), domain.CodeConflict)
		for _, version := range []int{0, 2, -1} {
			stale := made
			stale.Version = version
			w.refused(errorOf(w.s.ReplaceAgentProfile(w.ctx, stale, record("x"))), domain.CodeConflict)
		}
		foreign := made
		foreign.Tenant = "other"
		for _, missing := range []domain.AgentProfile{gone, foreign, profile("never", `{}`)} {
			w.refused(errorOf(w.s.ReplaceAgentProfile(w.ctx, missing, record("x"))), domain.CodeNotFound)
			w.refused(w.s.DeleteAgentProfile(w.ctx, missing.Tenant, missing.Name, record("x")), domain.CodeNotFound)
			w.refused(errorOf(w.s.AgentProfile(w.ctx, missing.Tenant, missing.Name, 0)), domain.CodeNotFound)
		}
		w.refused(errorOf(w.s.AgentProfile(w.ctx, tenant, "dba", 2)), domain.CodeNotFound)
		w.refused(errorOf(w.s.AgentProfile(w.ctx, "other", "dba", 1)), domain.CodeNotFound)
		w.refused(errorOf(w.s.ReplaceAgentProfile(w.ctx, made, domain.AuditRecord{})), domain.CodeInternal)
	})
	w.hasProfile(made, 0)
}

// profilesAtOnce: of those who have read the same version one makes the next.
func profilesAtOnce(w *world) {
	for version := range 5 {
		errs := atOnce(8, func(i int) error {
			p := profile("dba", fmt.Sprintf(`{"i":%d}`, i))
			p.Version = version
			if version == 0 {
				return errorOf(w.replicas[i%2].CreateAgentProfile(w.ctx, p, record("agentProfile.created")))
			}
			return errorOf(w.replicas[i%2].ReplaceAgentProfile(w.ctx, p, record("agentProfile.replaced")))
		})
		made := 0
		for i, err := range errs {
			if err != nil {
				w.refused(err, domain.CodeConflict)
				continue
			}
			made++
			want := fmt.Sprintf(`{"i":%d}`, i)
			if got := ok(w.s.AgentProfile(w.ctx, tenant, "dba", 0))(w); string(got.Definition) != want || got.Version != version+1 {
				w.Errorf("%+v, want %s", got, want)
			}
		}
		if made != 1 {
			w.Errorf("%d made the version %d", made, version+1)
		}
	}
}

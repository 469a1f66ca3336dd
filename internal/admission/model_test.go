package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
)

// TestTheFirstThatNamesAModelDecides: the request or its block, the operator's entry for the runbook, the default of the server.
func TestTheFirstThatNamesAModelDecides(t *testing.T) {
	a := newAdmission(func(c *Config) {
		c.Models = admissiontest.Models{"base", "own", "disks", "spare", "team", "all"}
		c.Settings.RunbookModels = []RunbookModel{
			{Runbook: "*", Model: "all"}, {Runbook: "disks", Model: "disks", Fallbacks: []string{"spare"}}, {Runbook: "disks*", Model: "base"},
			{Runbook: "disks-team.*", Model: "team"},
		}
	})
	const internal = `"source":{"type":"internal"},"prompt":"x"`
	of := func(runbook string) string { return `{` + internal + `,"runbookId":"` + runbook + `"}` }
	withRunbook := func(body string) string { return `{"runbookId":"disks",` + body[1:] }
	spare := []string{"spare"}
	for name, row := range map[string]struct {
		body      string
		model     string
		from      domain.ModelFrom
		fallbacks []string
	}{
		"nothing":                           {`{` + internal + `}`, "base", domain.ModelFromDefault, nil},
		"a request":                         {`{"source":{"type":"internal","model":"own"},"prompt":"x","runbookId":"disks"}`, "own", domain.ModelFromRequest, nil},
		"a runbook":                         {of("disks"), "disks", domain.ModelFromRunbook, spare},
		"a runbook, with own fallbacks":     {`{"source":{"type":"internal","fallbacks":["own"]},"prompt":"x","runbookId":"disks"}`, "disks", domain.ModelFromRunbook, []string{"own"}},
		"a runbook, with no fallbacks":      {`{"source":{"type":"internal","fallbacks":[]},"prompt":"x","runbookId":"disks"}`, "disks", domain.ModelFromRunbook, []string{}},
		"the longest beginning":             {of("disks-team.1"), "team", domain.ModelFromRunbook, nil},
		"the beginning itself":              {of("disks-team."), "team", domain.ModelFromRunbook, nil},
		"a shorter beginning":               {of("disks-tea"), "base", domain.ModelFromRunbook, nil},
		"any other runbook":                 {of("Disks"), "all", domain.ModelFromRunbook, nil},
		"a block":                           {withRunbook(aBlock(`"source":{"type":"internal","model":"own"},"prompt":"x"`)), "own", domain.ModelFromBlock, nil},
		"a block that leaves it to others":  {withRunbook(aBlock(internal)), "disks", domain.ModelFromRunbook, spare},
		"a block of no known runbook":       {aBlock(internal), "base", domain.ModelFromDefault, nil},
		"a generation of blocks":            {aGeneration("x", `"runbookId":"disks"`), "disks", domain.ModelFromRunbook, spare},
		"a generation of no known runbook":  {aGeneration("x"), "base", domain.ModelFromDefault, nil},
		"an assistant":                      {`{"kind":"assistant",` + internal + `,"runbookId":"disks"}`, "disks", domain.ModelFromRunbook, spare},
		"an external agent of this runbook": {`{"source":{"type":"acp","command":"mock"},"prompt":"x","runbookId":"disks"}`, "", "", nil},
	} {
		request := a.admitted(t, row.body)
		var want *domain.ModelChoice
		if row.from != "" {
			want = &domain.ModelChoice{Name: row.model, Provider: "openai", Model: "vendors-" + row.model, From: row.from}
		}
		if diff := cmp.Diff(want, request.Model); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(row.fallbacks, request.Source.Fallbacks); diff != "" || request.Source.Model != row.model {
			t.Errorf("%s: it asks %q, then %s", name, request.Source.Model, diff)
		}
	}
}

// TestTheModelOfARunbookHasAPrice where the budget counts money, as any other.
func TestTheModelOfARunbookHasAPrice(t *testing.T) {
	a := newAdmission(func(c *Config) {
		c.Settings.RunbookModels = []RunbookModel{{Runbook: "disks", Model: "dear", Fallbacks: []string{"demo"}}, {Runbook: "logs", Model: "dear"}}
	})
	body := `{` + valid + `,"budget":{"cost":1},"runbookId":"`
	a.admitted(t, body+`logs"}`)
	_, err := a.admit(t, body+`disks"}`)
	refuses(t, badInput{"a fallback without a price", body, domain.CodeInvalid, "/budget/cost"}, err)
}

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission"
)

// openedRunbooks reads the section runbooks of a file with two models.
func openedRunbooks(t *testing.T, section string) ([]admission.RunbookModel, error) {
	t.Helper()
	file, err := written(t, "models:\n  default: a\n  a: {provider: demo}\n  b: {provider: demo}\n\nrunbooks:\n"+section).readConfigFile()
	if err != nil {
		return nil, err
	}
	models, err := file.openModels(nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	return file.openRunbooks(models.Names())
}

func TestModelsOfRunbooks(t *testing.T) {
	got, err := openedRunbooks(t, "  disks: {model: b, fallbacks: [a]}\n  team.*: {model: a}\n  \"*\": {model: b}\n")
	want := []admission.RunbookModel{{Runbook: "*", Model: "b"}, {Runbook: "disks", Model: "b", Fallbacks: []string{"a"}}, {Runbook: "team.*", Model: "a"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Each mistake is shown with its line of the file.
func TestMistakesInRunbooks(t *testing.T) {
	for entry, want := range map[string][]string{
		"disks: {model: c}":                    {"runbooks.disks.model", `no model "c"; there are: a, b`, ">  7 |"},
		"team.*: {model: c}":                   {"runbooks.team.*.model", `no model "c"`, ">  7 |"},
		"disks: {model: b, fallbacks: [a, c]}": {"runbooks.disks.fallbacks.1", `no model "c"`, ">  7 |"},
		"disks: {fallbacks: [a]}":              {"runbooks.disks.model", "has no model", ">  7 |"},
		"disks:":                               {"runbooks.disks.model", "has no model"},
		"t*m: {model: b}":                      {"runbooks.t*m", "at its end", ">  7 |"},
		"a/b: {model: b}":                      {"runbooks.a/b", "is not the id of a runbook"},
		"\"\": {model: b}":                     {"is not the id of a runbook"},
		"disks: {mode: b}":                     {"mode"},
		"disks: {model: a, fallbacks: [" + strings.Repeat("b, ", 11) + "]}": {"runbooks.disks.fallbacks", "at most 10"},
	} {
		_, err := openedRunbooks(t, "  "+entry+"\n")
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, not %q", entry, err, part)
			}
		}
	}
}

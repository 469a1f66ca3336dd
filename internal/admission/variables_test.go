package admission

import (
	"fmt"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestKeptVariables: what is kept of variables is bounded and without secrets, and nothing is kept without a runbook.
func TestKeptVariables(t *testing.T) {
	a := newAdmission()
	filler := strings.Repeat("é", 190)
	body := `{` + valid + `,"variables":{"cut":"` + filler + canary + `","quoted":{"` + canary + `":["` + canary + `"]},"long":[` + strings.Repeat("1,", 200) + `1],"host":"db-1"}`
	kept := a.admitted(t, body+`,"runbookId":"disks"}`).Variables
	for name, want := range (domain.TemplateVariables{
		"cut":    {Type: "string", Value: filler + "[masked]"},
		"quoted": {Type: "object", Value: `{"[masked]":["[masked]"]}`},
		"long":   {Type: "array", Value: "[" + strings.Repeat("1,", 99) + "1…"},
		"host":   {Type: "string", Value: "db-1"},
	}) {
		if kept[name] != want {
			t.Errorf("%s: %+v, want %+v", name, kept[name], want)
		}
	}
	if kept := a.admitted(t, body+`}`).Variables; kept != nil {
		t.Errorf("without a runbook: %+v", kept)
	}
	var many strings.Builder
	for i := range 2 * maxKeptVariables {
		fmt.Fprintf(&many, `"v%d":1,`, i)
	}
	kept = a.admitted(t, `{`+valid+`,"runbookId":"disks","variables":{`+many.String()+`"`+strings.Repeat("a", maxVariableName+1)+`":1}}`).Variables
	if _, long := kept[strings.Repeat("a", maxVariableName+1)]; long || len(kept) != maxKeptVariables {
		t.Errorf("%d variables", len(kept))
	}
}

// TestSecretsByTheirName: nobody sees a value that the name of its variable calls a secret.
func TestSecretsByTheirName(t *testing.T) {
	a := newAdmission()
	names := map[string]bool{
		"db_password": true, "PGPASSWORD": true, "apiToken": true, "client_secret": true, "API_KEY": true, "sshKey": true, "key": true, "aws.credentials": true,
		"host": false, "keyboard": false, "monkey": false, "path": false, "passenger": false,
	}
	var sent []string
	for name := range names {
		sent = append(sent, `"`+name+`":"S3cr3t of a person"`)
	}
	kept := a.admitted(t, `{`+valid+`,"runbookId":"disks","variables":{`+strings.Join(sent, ",")+`}}`).Variables
	for name, secret := range names {
		if hidden := kept[name].Value == domain.Masked; hidden != secret {
			t.Errorf("%s: hidden %v, want %v", name, hidden, secret)
		}
	}
}

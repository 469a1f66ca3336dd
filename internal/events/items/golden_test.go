package items

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

var update = flag.Bool("update", false, "write what is, as what should be")

func TestWholeConversations(t *testing.T) {
	past := []domain.InputMessage{{Role: domain.RoleUser, Content: "Hello"}, {Role: domain.RoleAssistant, Content: "Hello!"}}
	for name, c := range map[string]struct {
		request domain.Request
		script  *script
	}{
		"files":      {domain.Request{Messages: past, Prompt: "Change the port."}, fileWork()},
		"agent":      {domain.Request{Prompt: "Change it."}, agentWork()},
		"blocks":     {domain.Request{Prompt: "A script, please."}, blockWork()},
		"pictures":   {pictureRequest, pictureWork()},
		"summary":    {domain.Request{Prompt: "Look after it."}, summaryWork()},
		"delegates":  {domain.Request{Prompt: "Plan the move."}, delegateWork()},
		"delegating": {domain.Request{Prompt: "Plan the move."}, delegating()},
		"disk":       {domain.Request{Prompt: "Change the port."}, diskWork()},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Reduce(c.request, c.script.Checked(t))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/"+name+".json", asJSON(t, all)+"\n")
		})
	}
}

// golden holds what came out against a file, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(wanted), got); diff != "" {
		t.Error(diff)
	}
}

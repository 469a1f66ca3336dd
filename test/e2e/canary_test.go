package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// Whoever looks for canaries must be able to find one.
func TestWatcherFinds(t *testing.T) {
	text := "user:" + canary + ":end"
	for name, pieces := range map[string][]string{
		"whole":     {text},
		"in pieces": strings.SplitAfter(text, ""),
		"base64":    {base64.StdEncoding.EncodeToString([]byte(text))},
		"base64, 1": {base64.StdEncoding.EncodeToString([]byte(text[1:]))},
		"base64, 2": {base64.StdEncoding.EncodeToString([]byte(text[2:]))},
		"hex":       {hex.EncodeToString([]byte(text))},
		"far in":    {strings.Repeat("x", 100_000), text},
	} {
		var found finds
		w := &watcher{place: name, forms: watched, finds: &found}
		for _, piece := range pieces {
			_, _ = w.Write([]byte(piece))
		}
		if len(found.lines) == 0 {
			t.Errorf("%s: found %q", name, found.lines)
		}
	}
}

// TestCanaryIsMasked has the canary said wherever anybody can say something, in all forms that the masker knows. Who
// looks whether it was masked is the watcher; the test sees to it that it was really said.
func TestCanaryIsMasked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		half := len(canary) / 2
		s := up(t, e, newModel(t, inTurn(
			func(a *answer, _ []message) {
				a.Think("I know " + canary[:half])
				a.Think(canary[half:] + ", do I?")
				a.Say("It is "+canary[:half], canary[half:], " and the key is ", modelKey, ".")
				a.Want("bash", object{
					"command": `echo "plain $CANARY"; printf %s "$CANARY" | base64; printf "x:%s" "$CANARY" | base64 -w0; echo; printf %s "$CANARY" | od -An -tx1 | tr -d ' \n'; echo "$CANARY" >&2; exit 3`,
					"secrets": []string{"canary"},
				})
				a.Want("bash", object{"command": "echo " + canary + " " + base64.StdEncoding.EncodeToString([]byte(canary))})
				a.Want("read", object{"path": canary})
				a.Want("no_such_"+canary[:6], object{"with": canary})
			},
			func(a *answer, conversation []message) {
				a.Say("last: ", last(conversation).Content, " "+canary)
			},
		)))
		want[object](s.client, http.StatusOK, "PUT", "/memory/global", object{"content": "the secret is " + canary}, headers{"If-Match": `"0"`})
		id := s.create(object{
			"prompt": "use " + canary, "instructions": "never say " + canary, "secrets": []string{"canary"}, "memory": object{"enabled": true},
			"metadata": object{"ticket": canary},
		}).ID
		asked := s.asked(id, 1)
		s.decide(asked[0], object{"reason": "because of " + canary})
		if end := s.ended(id); end.Status != "completed" || !strings.Contains(end.Output.Text, "[masked]") {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		log := s.sound(id)
		exposed := 0
		for _, outcome := range of[domain.ToolCallCompleted](t, log) {
			if outcome.ExitCode != nil && strings.Count(outcome.Output, secrets.Masked) < 5 {
				t.Errorf("the command printed its secret in five ways: %s", outcome.Output)
			}
			if outcome.Error != nil && outcome.Error.Code == domain.CodeSecretExposed {
				exposed++
			}
		}
		if exposed != 3 {
			t.Errorf("%d calls were refused for a secret in their arguments", exposed)
		}
		s.read(id)
		s.do("GET", "/executions", nil)
		s.do("GET", "/approvals/"+asked[0].ID, nil)
		s.do("GET", "/audit?limit=200", nil)
		s.do("GET", "/memory/global", nil)
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", object{"source": object{"type": "internal"}, "prompt": "x", canary: canary})
		s.do("GET", "/executions/"+strings.ReplaceAll(canary, "/", "%2F"), nil)
	})
}

// TestCanaryOfAnAgent: one external agent is given the secret and prints it; another one has come upon it elsewhere, and
// says it by all its mouths.
func TestCanaryOfAnAgent(t *testing.T) {
	t.Parallel()
	mouths := filepath.Join(t.TempDir(), "script") // outside of what the server may leave
	must(t, os.WriteFile(mouths, []byte(strings.ReplaceAll(`prompt: think it is CANARY
prompt: say it is CANARY
prompt: call c1 kind=execute title="echo CANARY" input={"command":"echo CANARY"}
prompt: update c1 in_progress "now CANARY"
prompt: update c1 completed "was CANARY"
prompt: diff c1 CANARY "old CANARY" "new CANARY"
prompt: plan "say CANARY" "hide CANARY:completed"
prompt: raw {"sessionUpdate":"of_its_own","words":"CANARY"}
prompt: info "about CANARY"
prompt: commands CANARY
prompt: mode CANARY
prompt: ask c2 kind=execute title="echo CANARY" input={"command":"echo CANARY"} mark=no options="a CANARY:allow_once:CANARY,no:reject_once:No"
prompt: read CANARY
prompt: stderr CANARY
prompt: rawline noise CANARY
prompt: fail -32000 "it was CANARY" {"more":"CANARY"}
`, "CANARY", canary)), 0o600))
	onBoth(t, func(t *testing.T, e engine) {
		h := openHouse(t, e, map[string]object{
			"given": {"env": []string{canaryVariable}}, "finder": {"args": []string{"-script", mouths}, "fileSystem": true},
		})
		v := h.visit(t, "given")
		v.ended(v.startAs(object{"debug": true}, "say I print it", "shell echo $E2E_CANARY; echo $E2E_CANARY >&2; echo $E2E_CANARY | base64",
			"stderr done"))
		finder := h.visit(t, "finder")
		id := finder.startAs(object{"debug": true})
		a := finder.pending(id)
		finder.do("POST", "/approvals/"+a.ID, object{"decision": "deny"})
		finder.ended(id)
		said := ""
		for _, event := range finder.page(id) {
			said += event.Raw
		}
		if got := strings.Count(said, secrets.Masked); got < 15 {
			t.Errorf("masked %d times: %s", got, said)
		}
		finder.do("GET", "/executions/"+id+"/debug", nil)
	})
}

// TestCanaryInAPrivateFile: where a person approves that a command keeps its secret in a file, the file holds it; nothing
// that the server writes of it does.
func TestCanaryInAPrivateFile(t *testing.T) {
	t.Parallel()
	onSQLite(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, inTurn(
			calls("bash", object{"command": `printf %s "$CANARY" > kept.txt`, "secrets": []string{"canary"}}),
			calls("read", object{"path": "kept.txt"}),
			calls("search", object{"pattern": "canary", "contextLines": 2}),
			calls("bash", object{"command": "cat kept.txt"}),
			finally("done"),
		)))
		id := s.create(object{"secrets": []string{"canary"}}).ID
		s.decide(s.asked(id, 1)[0])
		s.decide(s.asked(id, 1)[1])
		s.ended(id)
		content, err := os.ReadFile(filepath.Join(s.workspace, "kept.txt"))
		if err != nil || string(content) != canary {
			t.Errorf("the command kept %d bytes, %v", len(content), err)
		}
		must(t, os.Remove(filepath.Join(s.workspace, "kept.txt")))
		for _, outcome := range of[domain.ToolCallCompleted](t, s.sound(id))[1:] {
			if !strings.Contains(outcome.Output, secrets.Masked) {
				t.Errorf("it was not read: %+v", outcome)
			}
		}
	})
}

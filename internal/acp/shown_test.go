package acp

import (
	"context"
	"io"
	"strings"
	"testing"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/tools/hosttest"
)

// Put together from pieces, so that nobody's scanner takes this file for a leak.
const (
	awsKey    = "AKIA" + "IOSFODNN7EXAMPLE"
	anAPIKey  = "sk-" + "test-0123456789abcdef"
	anAPIKey2 = "sk-" + "test-fedcba9876543210"
)

// keysAreHidden has the rig hide what servers hide: the shapes of well-known keys.
func (r *rig) keysAreHidden() *rig {
	r.launch.Mask = secrets.NewMasker("passed-on-value").Mask
	return r
}

// TestRequestsThatHoldASecretAreNotRun: masked, a file would get other content than the agent sent, and would hear
// "ok"; as it is, nobody could have seen it.
func TestRequestsThatHoldASecretAreNotRun(t *testing.T) {
	for name, step := range map[string]string{
		"content": "write DIR/a.txt key=" + awsKey, "passed on": "write DIR/a.txt passed-on-value", "path": "write DIR/" + awsKey + " text",
		"argument": "terminal echo " + awsKey, "command": `terminal "curl -u ` + awsKey + `"`,
		"escaped":  `request fs/write_text_file {"sessionId":"SESSION","path":"a.txt","content":"\u0041` + awsKey[1:] + `"}`,
		"variable": `request terminal/create {"sessionId":"SESSION","command":"env","env":[{"name":"KEY","value":"` + awsKey + `"}]}`,
		"read":     "read DIR/" + awsKey,
	} {
		t.Run(name, func(t *testing.T) {
			r := withFiles(t).keysAreHidden()
			r.launch.Terminals = true
			r.host.Command = func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error) {
				t.Error("a command was run")
				return domain.CommandResult{}, nil
			}
			r.open()
			folder := r.opening.Execution.Request.WorkingDirectory
			r.runs(strings.NewReplacer("DIR", folder, "SESSION", r.agent.session).Replace(step))
			r.heard("=error -32602 The request holds a secret that Signoff hides")
			if files, err := r.host.ReadDir(t.Context(), "."); err != nil || len(files) > 0 {
				t.Errorf("there are files: %v, %v", files, err)
			}
			want(t, "announced", len(hosttest.Of[domain.ToolCallRequested](r.host)), 0)
			refused := hosttest.Of[domain.AgentUpdated](r.host)
			if len(refused) != 1 || refused[0].Kind != "refused" || strings.Contains(string(refused[0].Update), awsKey) {
				t.Fatalf("told: %v", refused)
			}
			if told := wire.ReadObject(refused[0].Update); told.Text("tool") == "" || !strings.Contains(told.Text("message"), "not run") {
				t.Errorf("told: %s", refused[0].Update)
			}
		})
	}
}

// TestASessionMayLookLikeAKey: it is known by that name, and its requests are served.
func TestASessionMayLookLikeAKey(t *testing.T) {
	r := withFiles(t).keysAreHidden()
	r.outside.Tree = map[string]string{}
	r.launch.Process.Argv = append(r.launch.Process.Argv, "-script", `new: result {"sessionId":"`+anAPIKey+`"}`)
	r.open()
	want(t, "session", r.agent.session, anAPIKey)
	r.agent.translator.update(mustShow(r, `{"sessionId":"`+anAPIKey+`","update":{"sessionUpdate":"plan","entries":[]}}`))
	want(t, "plans", len(hosttest.Of[domain.PlanUpdated](r.outside)), 1)
	_, err := r.agent.Request(t.Context(), "fs/write_text_file",
		[]byte(`{"sessionId":"`+anAPIKey+`","path":"a.txt","content":"text"}`))
	if content, written := r.outside.Content("a.txt"); err != nil || !written || content != "text" {
		t.Errorf("a.txt: %q, %v, %v", content, written, err)
	}
}

func mustShow(r *rig, params string) []byte {
	r.Helper()
	shown, err := r.agent.shown([]byte(params))
	if err != nil || strings.Contains(string(shown), anAPIKey) {
		r.Fatalf("shown: %s, %v", shown, err)
	}
	return shown
}

// TestIDsThatLookLikeKeys are told apart, are not shown, and the option goes back as it came.
func TestIDsThatLookLikeKeys(t *testing.T) {
	r := newRig(t).keysAreHidden().open()
	r.host.Answer = func(_ context.Context, q domain.Question) (domain.Answer, error) {
		shown := string(q.Options) + string(q.Call.Arguments) + q.Call.ID
		if strings.Contains(shown, anAPIKey) || strings.Contains(shown, anAPIKey2) || !strings.Contains(shown, "use [masked]") {
			t.Errorf("a person was shown %s", shown)
		}
		options := (wire.Object{"options": q.Options}).Objects("options")
		return yes(options[1].Text("optionId")), nil
	}
	r.runs("call "+anAPIKey+" kind=execute", "call "+anAPIKey2+" kind=execute",
		`ask `+anAPIKey2+` mark=no input={"k":"use `+awsKey+`"} options=`+anAPIKey+`:allow_once:One,`+anAPIKey2+`:allow_once:Two`,
		`if `+anAPIKey2+` `+anAPIKey2+` update `+anAPIKey2+` completed`,
		"update "+anAPIKey+" completed")
	calls := hosttest.Of[domain.ToolCallRequested](r.host)
	if len(calls) != 2 || calls[0].ToolCallID == calls[1].ToolCallID {
		t.Errorf("the calls are %v", calls)
	}
	want(t, "outcomes", len(hosttest.Of[domain.ToolCallCompleted](r.host)), 2)
}

package llm_test

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/demo"
	"signoff/internal/tools/hosttest"
)

func demoConfig() llm.Config {
	return llm.Config{Models: map[string]llm.Model{"demo": {Provider: "demo"}}}
}

const demoOutput = "Fri Nov 20 19:09:06 UTC 2026\nLinux 6.1.0\nFilesystem Size Used Avail Use% Mounted on\n/dev/sda1 100G 40G 60G 40% /\na.md\nb.md\n"

func TestDemo(t *testing.T) {
	grants := map[string]domain.Grant{
		"denied":  {Message: "A person denied this call and said: not in time for lunch"},
		"expired": {Message: "Nobody answered the request for approval in time, so the call did not run. This is not a refusal by a person."},
		"other":   {Message: "The call was withdrawn before it ran."},
	}
	tests := []struct {
		name, output string
		want         []string
	}{
		{"approved", demoOutput, []string{"was approved and has run", "- Linux 6.1.0", "60G", "- b.md"}},
		{"edited", "root\n", []string{"did not bring what my script expects", "“root”"}},
		{"denied", "", []string{"The command was denied", "not in time for lunch", "will not try another way"}},
		{"expired", "", []string{"Nobody decided in time", "That is not a no"}},
		{"other", "", []string{"was withdrawn before it ran"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			host := &hosttest.Host{Command: prints(test.output)}
			if grant, refused := grants[test.name]; refused {
				host.Grant = func(context.Context, domain.ToolCall) (domain.Grant, error) { return grant, nil }
			}
			stop, err := open(t, demoConfig(), execution()).Prompt(t.Context(), host, prompt("Why is the disk full?"))
			want(t, "error", err, nil)
			want(t, "stop", stop, domain.StopEndTurn)
			host.Finish(t, true)
			want(t, "calls", len(requested(host)), 1)
			for _, part := range append(test.want, "scripted demonstration model", "no language model") {
				if !strings.Contains(host.Text(), part) {
					t.Errorf("the text lacks %q:\n%s", part, host.Text())
				}
			}
			if !strings.Contains(host.Thought(), "Why is the disk full?") {
				t.Errorf("the thought: %s", host.Thought())
			}
			usage := hosttest.Of[domain.UsageUpdated](host)
			if len(usage) != 2 || *usage[1].Usage.OutputTokens <= *usage[0].Usage.OutputTokens {
				t.Errorf("usage: %+v", usage)
			}
		})
	}
}

func TestDemoWithoutCommands(t *testing.T) {
	e := execution()
	e.Request.Capabilities.Execute = domain.Deny
	host := &hosttest.Host{}
	if _, err := open(t, demoConfig(), e).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	if len(requested(host)) != 0 || !strings.Contains(host.Text(), "may not run any") {
		t.Errorf("got %q", host.Text())
	}
}

func TestDemoHasAPaceAndStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := demoConfig()
		c.Pace = demo.Pace
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		host, begun := &hosttest.Host{}, time.Now()
		if _, err := open(t, c, execution()).Prompt(ctx, host, prompt("Go")); err == nil {
			t.Error("it did not stop")
		}
		want(t, "took", time.Since(begun), time.Second)
		if n := len(host.Payloads()); n < 30 || n > 45 {
			t.Errorf("%d chunks in a second", n)
		}
	})
}

// TestDemoCommandReallyRuns: what the script expects is what a shell prints.
func TestDemoCommandReallyRuns(t *testing.T) {
	host := &hosttest.Host{Command: func(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
		child := exec.CommandContext(ctx, command.Argv[0], command.Argv[1:]...)
		child.Dir, child.Stdout, child.Stderr = t.TempDir(), output, output
		return domain.CommandResult{}, child.Run()
	}}
	if _, err := open(t, demoConfig(), execution()).Prompt(t.Context(), host, prompt("Go")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(host.Text(), "was approved and has run") {
		t.Errorf("got %s", host.Text())
	}
}

// TestDemoGeneratesBlocks: in the first turn and in one that edits, whatever the first type wants in its props.
func TestDemoGeneratesBlocks(t *testing.T) {
	e := working(domain.KindGeneration)
	for name, test := range map[string]struct{ schema, want string }{
		"a script":     {`{"type":"object","required":["code"],"properties":{"code":{"type":"string"},"on":{"type":"boolean"}}}`, `{"code":"`},
		"many things":  {`{"type":"object","required":["n","s","l","o","b"],"properties":{"n":{"type":"integer"},"s":{"enum":["x"]},"l":{"type":"array"},"o":{"type":"object"},"b":{"type":"boolean"}}}`, `{"b":false,"l":[],"n":1,"o":{},"s":"x"}`},
		"a choice":     {`{"type":"object","properties":{"text":{"type":"string"}}}`, `{"text":"`},
		"nothing said": {``, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			e.Request.Runbook.BlockTypes = []domain.BlockType{{Type: "first", PropsSchema: json.RawMessage(test.schema)}, {Type: "second"}}
			if test.schema == "" {
				e.Request.Runbook.BlockTypes[0].PropsSchema = nil
			}
			host := &hosttest.Host{Book: e.Request.Runbook}
			agent := open(t, demoConfig(), e, someTools()...)
			for _, p := range []domain.Prompt{prompt("Look at the disk."), {Turn: 2, Edits: 1, History: prompt("Shorter.").History}} {
				stop, err := agent.Prompt(t.Context(), host, p)
				want(t, "error", err, nil)
				want(t, "stop", stop, domain.StopEndTurn)
			}
			host.Finish(t, true)
			want(t, "generations", len(host.Generations()), 2)
			if blocks := string(host.Generations()[0].Blocks); !strings.HasPrefix(blocks, `[{"type":"first","props":`+test.want) {
				t.Errorf("blocks: %s", blocks)
			}
		})
	}
}

func TestDemoGeneratesBlocksWithoutTypes(t *testing.T) {
	e := working(domain.KindGeneration)
	e.Request.Runbook = domain.Runbook{}
	e.Request.Tools.Enabled = []string{}
	host := &hosttest.Host{}
	if _, err := open(t, demoConfig(), e, someTools()...).Prompt(t.Context(), host, prompt("Write.")); err != nil {
		t.Fatal(err)
	}
	want(t, "blocks", string(host.Generations()[0].Blocks), `[{"type":"paragraph","props":{}},{"type":"paragraph","props":{}}]`)
}

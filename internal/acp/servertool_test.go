package acp

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// TestToolsOfServers: whatever an agent calls the tool of a server, policy gets the server's name and the class mcp.
func TestToolsOfServers(t *testing.T) {
	for name, test := range map[string]struct {
		updates      []string // what the agent says of the call, one after the other
		tool, server string
		class        domain.Class
	}{
		"Claude Code": {[]string{`{"title":"mcp__probe__echo","kind":"other","_meta":{"claudeCode":{"toolName":"mcp__probe__echo"}}}`},
			"mcp__probe__echo", "probe", domain.ClassMCP},
		"OpenCode": {[]string{`{"title":"probe_echo","kind":"other","rawInput":{}}`}, "mcp__probe__echo", "probe", domain.ClassMCP},
		"Gemini CLI by the title": {[]string{`{"title":"echo (probe MCP Server)","kind":"other","toolCallId":"call_1"}`},
			"mcp__probe__echo", "probe", domain.ClassMCP},
		"Gemini CLI by the id, with a command as the title": {[]string{`{"title":"ls","kind":"other","toolCallId":"mcp_probe_echo-1787000000000-3"}`},
			"mcp__probe__echo", "probe", domain.ClassMCP},
		"a name of its own":                  {[]string{`{"name":"mcp_probe_echo","title":"Echo","kind":"other"}`}, "mcp__probe__echo", "probe", domain.ClassMCP},
		"said later":                         {[]string{`{"title":"Working","kind":"other"}`, `{"title":"probe_echo"}`}, "mcp__probe__echo", "probe", domain.ClassMCP},
		"of the server with the longer name": {[]string{`{"title":"probe_two_echo","kind":"other"}`}, "mcp__probe_two__echo", "probe_two", domain.ClassMCP},
		"a server of the agent's own":        {[]string{`{"name":"mcp__mine__x","kind":"read"}`}, "mcp__mine__x", "mine", domain.ClassMCP},
		"a reading, the agent says":          {[]string{`{"title":"probe_echo","kind":"read"}`}, "mcp__probe__echo", "probe", domain.ClassMCP},
		"a command stays one":                {[]string{`{"title":"probe_echo","kind":"execute"}`}, "mcp__probe__echo", "probe", domain.ClassExecute},
		"a command in the end":               {[]string{`{"title":"probe_echo","kind":"other"}`, `{"kind":"execute"}`}, "mcp__probe__echo", "probe", domain.ClassExecute},
		"a tool that begins alike":           {[]string{`{"title":"probes","kind":"other"}`}, "other", "", domain.ClassOther},
		"a sentence":                         {[]string{`{"title":"probe_echo and rm -rf /","kind":"other"}`}, "other", "", domain.ClassOther},
		"a server that nobody handed over":   {[]string{`{"title":"echo (theirs MCP Server)","kind":"other"}`}, "other", "", domain.ClassOther},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTranslation(t, domain.Opening{})
			tr.calls.servers = []string{"probe", "probe_two"}
			var c *toolCall
			for i, update := range test.updates {
				said := wire.ReadObject(json.RawMessage(update))
				if said.Text("toolCallId") == "" {
					said["toolCallId"] = json.RawMessage(`"c"`)
				}
				if i < len(test.updates)-1 {
					tr.hears(string(domain.Encode(withKind(said))))
					continue
				}
				c = tr.ask("", said, domain.Encode(said))
			}
			asked := tr.inQuestion(c)
			want(t, "tool", asked.Tool, test.tool)
			want(t, "server", asked.Action.Server, test.server)
			want(t, "class", asked.Class, test.class)
		})
	}
}

func withKind(update wire.Object) wire.Object {
	update["sessionUpdate"] = json.RawMessage(`"tool_call"`)
	return update
}

// TestQuestionWaitsForItsInput: OpenCode asks about a server's tool with an empty input, and tells what is in it later.
func TestQuestionWaitsForItsInput(t *testing.T) {
	for name, test := range map[string]struct {
		input string // of the question
		after time.Duration
		told  string // the input that comes later; nothing where none does
		wait  time.Duration
		want  string
	}{
		"100 ms later":                       {`{}`, 100 * time.Millisecond, `{"text":"hi"}`, 100 * time.Millisecond, `{"text":"hi"}`},
		"never":                              {`{}`, 0, ``, inputGrace, `{"title":"probe_echo"}`},
		"too late":                           {`{}`, 2 * inputGrace, `{"text":"hi"}`, inputGrace, `{"title":"probe_echo"}`},
		"with the question":                  {`{"text":"a"}`, 100 * time.Millisecond, `{"text":"hi"}`, 0, `{"text":"a"}`},
		"an agent that has no input to tell": {`null`, 100 * time.Millisecond, `{"text":"hi"}`, 0, `{"title":"probe_echo"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &hosttest.Host{}
				person := &answering{answer: yes("once")}
				host.Answer = person.put
				a := tellingAgent(t, host)
				a.service.renew(a.life)
				close(a.sessionNamed)
				r := newBubble(t, a)
				begun := time.Now()
				r.sends(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":`+
					`{"toolCallId":"c","title":"probe_echo","kind":"other","rawInput":%s},"options":[{"optionId":"once","kind":"allow_once","name":"Once"}]}}`, test.input))
				if test.told != "" {
					go func() {
						time.Sleep(test.after)
						r.sends(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+
							`{"sessionUpdate":"tool_call_update","toolCallId":"c","rawInput":%s}}}`, test.told))
					}()
				}
				r.gets() // the answer
				want(t, "waited", time.Since(begun), test.wait)
				person.mu.Lock()
				want(t, "arguments", string(person.asked[0].Call.Arguments), test.want)
				person.mu.Unlock()
				time.Sleep(test.after)
				synctest.Wait()
			})
		})
	}
}

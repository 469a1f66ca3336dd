package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// consoleLink is the address of the console that a server prints.
var consoleLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#token=(sgn_[0-9a-z_]+)`)

// walks are those of the pages whose commands need more than a server.
var walks = map[string]walk{
	"README.md":           {config: scriptedAgents},
	"docs/agents.md":      {config: scriptedAgents},
	"docs/approvals.md":   {begin: asks, after: steps[func(*walker, string)]{"/approvals": showsApproval}},
	"docs/audit.md":       {begin: asks, after: steps[func(*walker, string)]{"audit verify": keepsHead}},
	"docs/checkpoints.md": {config: writesALine, before: steps[func(*walker)]{"/checkpoints": completes}},
	"docs/console.md":     {after: steps[func(*walker, string)]{"xdg-open": opensConsole}},
	"docs/keys.md":        {after: steps[func(*walker, string)]{"keys list": knowsKey}},
	"docs/mcp.md":         {config: namesServers},
	"docs/memory.md":      {begin: writesNotes},
	"docs/operations.md": {
		begin: asksAndEnds,
		after: steps[func(*walker, string)]{"tail -n 1": exportEnds, "sha256sum": exportIsWhole},
		whole: steps[func(*walker, example)]{"## Postgres and replicas": startsReplicas},
	},
	"docs/policy.md": {begin: writesRule},
	"docs/runbooks.md": {
		config: scriptedModel,
		before: steps[func(*walker)]{"/resume": losesModel, "/generation/accept": returnsToBlocks, "/tool-results": allowsCalls},
	},
	"docs/webhooks.md": {
		config: receives, begin: asks,
		after: steps[func(*walker, string)]{"hooks.example": forgetsWebhook},
		whole: steps[func(*walker, example)]{"## What a receiver must do": verifies},
	},
}

// configure writes signoff.yaml. JSON is YAML.
func (w *walker) configure(content object) {
	w.t.Helper()
	content = maps.Clone(content)
	content["settings"] = withoutCheckpoints(object{})
	encoded, err := json.Marshal(content)
	must(w.t, err)
	must(w.t, os.WriteFile(filepath.Join(w.home, "signoff.yaml"), encoded, 0o600))
}

// scriptedAgents puts the scripted agent in the place of those that the pages name.
func scriptedAgents(w *walker) {
	agents := object{}
	for _, name := range []string{"claude", "gemini", "codex", "opencode"} {
		agents[name] = object{"command": acptest.Build(w.t), "mode": "", "home": "private"}
	}
	w.configure(object{"agents": agents})
}

// namesServers has the MCP servers that the page names. Of those only runbooks is there: an execution goes on without the others.
func namesServers(w *walker) {
	servers := object{}
	for _, name := range []string{"github", "files"} {
		servers[name] = object{"command": "/no/such/program"}
	}
	servers["runbooks"] = object{"url": reviewsRunbooks(w)}
	w.configure(object{"models": object{"demo": object{"provider": "demo"}}, "mcpServers": servers})
}

// reviewsRunbooks is the address of an MCP server with a prompt.
func reviewsRunbooks(w *walker) string {
	server := mcp.NewServer(&mcp.Implementation{Name: "runbooks", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "review", Arguments: []*mcp.PromptArgument{{Name: "path", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			text := &mcp.TextContent{Text: "Review the runbook " + r.Params.Arguments["path"] + "."}
			return &mcp.GetPromptResult{Description: "Reviews a runbook.", Messages: []*mcp.PromptMessage{{Role: "user", Content: text}}}, nil
		})
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	w.t.Cleanup(listening.Close)
	return listening.URL
}

// asks has an execution wait for a person.
func asks(w *walker) {
	w.names["EXECUTION_ID"] = w.create().ID
	w.names["APPROVAL_ID"] = w.asked(w.names["EXECUTION_ID"], 1)[0].ID
}

func asksAndEnds(w *walker) {
	asks(w)
	w.cancelled(w.names["EXECUTION_ID"], object{})
}

func showsApproval(w *walker, output string) {
	if id := w.names["APPROVAL_ID"]; !strings.Contains(output, id) {
		w.t.Errorf("the inbox has no %s: %s", id, output)
	}
}

// keepsHead reads the head that the audit prints, for the command that compares with it.
func keepsHead(w *walker, output string) {
	head := regexp.MustCompile(`\d+:[0-9a-f]{64}`).FindString(output)
	if head == "" {
		w.t.Fatalf("no head is printed: %s", output)
	}
	w.names["1234:9f2c…"] = head
}

// opensConsole opens the link as a browser does, and asks the API with its token.
func opensConsole(w *walker, output string) {
	link := consoleLink.FindStringSubmatch(output)
	if link == nil {
		w.t.Fatalf("this is no link: %q", output)
	}
	c := newClient(w.t, link[1], link[2])
	if response, page := c.do("GET", "/", nil, headers{"Accept": "text/html"}); response.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("<script")) {
		w.t.Errorf("the link shows %s: %.200s", response.Status, page)
	}
	want[object](c, http.StatusOK, "GET", "/executions", nil)
}

// knowsKey finds the key that the page has created.
func knowsKey(w *walker, output string) {
	for line := range strings.Lines(output) {
		if strings.Contains(line, "night-shift") {
			w.names["KEY_ID"] = strings.Fields(line)[0]
		}
	}
}

// writesNotes leaves revision 3 of the notes of a runbook.
func writesNotes(w *walker) {
	for i := range 3 {
		want[object](w.client, http.StatusOK, "PUT", "/memory/runbook:disk-full", object{"content": "# Disks"}, headers{"If-Match": fmt.Sprintf(`"%d"`, i)})
	}
}

func writesRule(w *walker) {
	rule := object{"scope": "global", "effect": "deny", "matcher": object{"path": "/srv/secrets/**"}}
	w.names["RULE_ID"] = want[execution](w.client, http.StatusCreated, "POST", "/permission-rules", rule).ID
}

func exportEnds(w *walker, output string) {
	var end struct{ Type, SHA256 string }
	if json.Unmarshal([]byte(output), &end) != nil || end.Type != "end" || len(end.SHA256) != 64 {
		w.t.Fatalf("the export ends with %s", output)
	}
	w.sha256 = end.SHA256
}

func exportIsWhole(w *walker, output string) {
	if !strings.HasPrefix(output, w.sha256) {
		w.t.Errorf("sha256sum says %s, and the export %s", output, w.sha256)
	}
}

// startsReplicas runs the block over a database of its own, and has one server finish what the other one was given.
func startsReplicas(w *walker, e example) {
	addresses, script := [2]string{freeAddress(w.t), freeAddress(w.t)}, e.text
	for shown, real := range map[string]string{
		"postgres://signoff:PASSWORD@127.0.0.1:5432/signoff?sslmode=disable": postgres(w.t), "127.0.0.1:8081": addresses[0], "127.0.0.1:8082": addresses[1],
	} {
		if !strings.Contains(script, shown) {
			w.t.Fatalf("%s does not say %s", e.place(), shown)
		}
		script = strings.ReplaceAll(script, shown, real)
	}
	home, output := w.t.TempDir(), &harness.Output{}
	must(w.t, os.Symlink(filepath.Join(w.home, "bin"), filepath.Join(home, "bin")))
	command := exec.Command("bash", "-c", "set -e\ntrap 'kill $(jobs -p); wait' TERM\n"+script+"wait\n")
	command.Dir, command.Stdout, command.Stderr = home, output, output
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	process, err := harness.Start(command)
	must(w.t, err)
	defer func() {
		if obeyed, err := process.Stop(40 * time.Second); err != nil || !obeyed {
			w.t.Errorf("the servers do not stop: %v", err)
		}
		if w.t.Failed() {
			w.t.Logf("the servers said:\n%s", output)
		}
	}()
	one, two := newClient(w.t, "http://"+addresses[0], ""), newClient(w.t, "http://"+addresses[1], "")
	w.patiently(scenario, "two servers", func() bool { return one.Ready(w.t.Context()) && two.Ready(w.t.Context()) })
	tokens, err := filepath.Glob(filepath.Join(home, "data/[12]/token"))
	must(w.t, err)
	if len(tokens) == 0 {
		w.t.Fatal("no server has made a token")
	}
	token, err := os.ReadFile(tokens[0])
	must(w.t, err)
	one.Token, two.Token = strings.TrimSpace(string(token)), strings.TrimSpace(string(token))
	id := one.create().ID
	two.decide(two.asked(id, 1)[0])
	if end := two.ended(id); end.Status != string(domain.StatusCompleted) {
		w.t.Errorf("ended as %s", end.Status)
	}
}

// scriptedModel answers the prompts of the page about runbooks.
func scriptedModel(w *walker) {
	away := true // of its first prompt
	m := newModel(w.t, func(a *answer, conversation []message) {
		switch said := last(conversation); {
		case said.Role == "user" && strings.Contains(said.Content, "locked out") && away:
			away = false
			a.Refuse(http.StatusUnauthorized, "")
		case said.Role == "tool":
			a.Say("It is done.")
		case slices.Contains(a.Tools, "submit_blocks"):
			a.Want("submit_blocks", object{"blocks": []object{block("df -h")}})
		case slices.Contains(a.Tools, "run_block"):
			a.Want("run_block", object{"id": "b7"})
			a.Want("run_block", object{"id": "b9"})
		default:
			a.Say("The disk is full.")
		}
	})
	w.configure(object{"models": object{"default": "test", "test": object{"provider": "openai", "model": "m", "baseUrl": m.url()}}})
}

// writesALine has a model that writes a file.
func writesALine(w *walker) {
	m := newModel(w.t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			a.Say("done")
			return
		}
		a.Want("write", object{"path": "notes.txt", "content": "The disk is half full.\n"})
	})
	w.configure(object{"models": object{"default": "test", "test": object{"provider": "openai", "model": "m", "baseUrl": m.url()}}})
}

// completes waits for the end of the execution of the page.
func completes(w *walker) { w.reach(w.names["EXECUTION_ID"], domain.StatusCompleted) }

// losesModel has an execution interrupted because its model wants another key.
func losesModel(w *walker) {
	w.generation = w.names["EXECUTION_ID"]
	w.names["EXECUTION_ID"] = w.create(object{"prompt": "locked out"}).ID
	w.reach(w.names["EXECUTION_ID"], domain.StatusInterrupted)
}

func returnsToBlocks(w *walker) { w.names["EXECUTION_ID"] = w.generation }

// allowsCalls approves the calls of the assistant, which then wait for the client.
func allowsCalls(w *walker) {
	id := w.names["EXECUTION_ID"]
	if w.names["call_1"] != "" {
		return
	}
	for _, a := range w.asked(id, 2) {
		w.decide(a)
	}
	w.eventually("calls that wait for the client", func() bool {
		pending := want[showing](w.client, http.StatusOK, "GET", "/executions/"+id, nil).PendingToolCalls
		if len(pending) == 2 {
			w.names["call_1"], w.names["call_2"] = pending[0].ToolCallID, pending[1].ToolCallID
		}
		return len(pending) == 2
	})
}

type newWebhook struct {
	Webhook struct{ ID string }
	Secret  string
}

// received is a request to a webhook.
type received struct {
	header http.Header
	body   []byte
}

// receives allows deliveries to a receiver of this test.
func receives(w *walker) {
	w.delivered = make(chan received, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.delivered <- received{r.Header, body}
	}))
	w.t.Cleanup(receiver.Close)
	w.names["RECEIVER"] = receiver.URL
	w.configure(object{
		"models":   object{"demo": object{"provider": "demo"}},
		"webhooks": object{"allowHosts": []string{strings.TrimPrefix(receiver.URL, "http://")}},
	})
}

// forgetsWebhook deletes a webhook that leads to another machine before anything is sent there.
func forgetsWebhook(w *walker, output string) {
	var created newWebhook
	must(w.t, json.Unmarshal([]byte(output), &created))
	want[object](w.client, http.StatusNoContent, "DELETE", "/webhooks/"+created.Webhook.ID, nil)
}

// verifies checks a delivery by the lines of the page, in each of its languages; a byte more, and they refuse it.
func verifies(w *walker, e example) {
	created := want[newWebhook](w.client, http.StatusCreated, "POST", "/webhooks", object{"url": w.names["RECEIVER"]})
	want[object](w.client, http.StatusAccepted, "POST", "/webhooks/"+created.Webhook.ID+"/test", nil)
	got := <-w.delivered
	given := got.header.Get("webhook-signature")
	for _, more := range []string{"", " "} {
		must(w.t, os.WriteFile(filepath.Join(w.home, "body"), append(slices.Clone(got.body), more...), 0o600))
		said := w.signed(e, created.Secret, got.header)
		if genuine := said == "True" || said == "true" || "v1,"+said == given; genuine != (more == "") {
			w.t.Errorf("%s: of %q with %q behind it, signed %s, it says %q", e.place(), got.body, more, given, said)
		}
	}
}

// signed runs the lines of the page over the file body.
func (w *walker) signed(e example, secret string, header http.Header) string {
	w.t.Helper()
	programs := map[string][]string{
		"sh": {"bash", "-c", e.text},
		"python": {"python3", "-c", e.text + `
import os
print(verified(os.environ["SECRET"], {k: os.environ[k.upper().replace("-", "_")] for k in ["webhook-id", "webhook-timestamp", "webhook-signature"]}, open("body", "rb").read()))`},
		"js": {"node", "--input-type=module", "-e", e.text + `
import { readFileSync } from "node:fs";
console.log(verified(process.env.SECRET, Object.fromEntries(["webhook-id", "webhook-timestamp", "webhook-signature"].map((k) => [k, process.env[k.toUpperCase().replaceAll("-", "_")]])), readFileSync("body")));`},
	}
	program := programs[e.language]
	if program == nil {
		w.t.Fatalf("%s: nobody runs %s", e.place(), e.language)
	}
	var out, errOut bytes.Buffer
	run := exec.CommandContext(w.t.Context(), program[0], program[1:]...)
	run.Dir, run.Stdout, run.Stderr = w.home, &out, &errOut
	run.Env = append(slices.Clone(w.env), "SECRET="+secret)
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		run.Env = append(run.Env, strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+header.Get(name))
	}
	if err := run.Run(); err != nil {
		w.t.Fatalf("%s: %v: %s", e.place(), err, errOut.String())
	}
	return strings.TrimSpace(out.String())
}

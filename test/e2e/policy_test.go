package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// outcome is what became of a call, as the model and the audit know it.
type outcome struct {
	fate domain.Fate
	by   string
	text string
}

// outcomes are those of all calls of an execution that has ended, in the order of their ends.
func (s *server) outcomes(id string) (all []outcome) {
	s.t.Helper()
	by := []string{}
	for _, entry := range s.audit(id) {
		if strings.HasPrefix(entry.Action, "toolCall.") {
			by = append(by, entry.Record.DecidedBy)
		}
	}
	for i, fate := range of[domain.ToolCallCompleted](s.t, s.sound(id)) {
		all = append(all, outcome{fate.Fate, by[i], fate.Output})
	}
	return all
}

// TestPolicies: one command, or a few, under settings that nobody is asked about.
func TestPolicies(t *testing.T) {
	t.Parallel()
	bash := func(defaultBehavior, denyBehavior string) object {
		return object{"bashPolicy": object{"defaultBehavior": defaultBehavior, "denyBehavior": denyBehavior, "rules": []object{
			{"name": "reads", "pattern": `^(cat|ls)\b`, "action": "allow"}, {"name": "destroys", "pattern": `^rm\b`, "action": "deny"},
		}}}
	}
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			if last(conversation).Role == "tool" {
				a.Say("done")
				return
			}
			a.Bash(last(conversation).Content)
		}))
		must(t, os.WriteFile(filepath.Join(s.workspace, "old"), nil, 0o600))
		must(t, os.Mkdir(filepath.Join(s.workspace, "secret"), 0o700))
		denied := func(path string, unattended bool) object {
			rule := object{"effect": "deny", "matcher": object{"path": filepath.Join(s.workspace, path)}}
			return object{"safeMode": false, "policy": object{"unattended": unattended, "rules": []object{rule}}}
		}
		for name, test := range map[string]struct {
			request object
			command string
			fate    domain.Fate
			by      string
			says    string
		}{
			"denied and blocked":         {object{"tools": bash("allow", "block")}, "rm -rf old", domain.FateDenied, "bashPolicy", "destroys"},
			"denied in a pipe":           {object{"tools": bash("allow", "block")}, "ls | xargs rm", domain.FateDenied, "bashPolicy", "destroys"},
			"denied by default":          {object{"tools": bash("deny", "block")}, "echo hi", domain.FateDenied, "bashPolicy", "echo"},
			"allowed against a default":  {object{"tools": bash("deny", "block")}, "ls", domain.FateSucceeded, "bashPolicy", "old"},
			"allowed by default":         {object{"tools": bash("allow", "block")}, "echo hi", domain.FateSucceeded, "bashPolicy", "hi"},
			"full trust":                 {object{"safeMode": false}, "echo trusted; touch made", domain.FateSucceeded, "safeModeOff", "trusted"},
			"full trust, but blocked":    {object{"safeMode": false, "tools": bash("allow", "block")}, "rm old", domain.FateDenied, "bashPolicy", "destroys"},
			"no commands at all":         {object{"safeMode": false, "capabilities": object{"execute": "deny"}}, "ls", domain.FateFailed, "server", "no tool"},
			"booleans of old":            {object{"capabilities": object{"executeCommands": true}}, "ls", domain.FateSucceeded, "capability", "old"},
			"nobody there":               {object{"policy": object{"unattended": true}}, "ls", domain.FateDenied, "unattended", "unattended"},
			"a rule of the request":      {object{"policy": object{"rules": []object{{"effect": "allow", "matcher": object{"command": "ls *"}}}}}, "ls -1", domain.FateSucceeded, "rule", "old"},
			"a denied folder, by a link": {denied("secret/**", false), "ln -s secret sl; echo x > sl/n || echo kept", domain.FateSucceeded, "safeModeOff", "kept"},
			"a denied pattern asks":      {denied("*/key", true), "ls", domain.FateDenied, "unattended", "the path is a pattern"},
			"a tool that is not enabled": {object{"tools": object{"enabled": []string{"read"}}}, "ls", domain.FateFailed, "server", "no tool"},
		} {
			id := s.create(test.request, object{"prompt": test.command}).ID
			if end := s.ended(id); end.Status != "completed" {
				t.Errorf("%s: ended: %+v %+v", name, end, end.Output)
			}
			got := s.outcomes(id)
			if len(got) != 1 || got[0].fate != test.fate || got[0].by != test.by || !strings.Contains(got[0].text, test.says) {
				t.Errorf("%s: got %+v, want %s by %s, with %q", name, got, test.fate, test.by, test.says)
			}
		}
	})
}

// TestLimits: what an execution may use up ends it, with what was said so far.
func TestLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		m := newModel(t, func(a *answer, _ []message) {
			a.Say("I look again.")
			a.Want("list", object{})
		})
		s := newServer(t, e, m)
		s.models(object{"test": entry(m, object{"inputCostPer1m": 5, "outputCostPer1m": 25})})
		s.start()
		for name, test := range map[string]struct {
			request      object
			finish, says string
			warned       int
		}{
			"rounds":     {object{"maxIterations": 3}, "maxIterations", "used up", 0},
			"tool calls": {object{"budget": object{"toolCalls": 5}}, "budget", "5 tool calls", 1},
			"tokens":     {object{"budget": object{"tokens": 600}}, "budget", "600 tokens", 1},
			"cost":       {object{"budget": object{"cost": 0.005}}, "budget", "0.005", 1},
		} {
			id := s.create(test.request).ID
			end := s.ended(id)
			if end.Status != "failed" || end.Output.Error.Code != "limitReached" || end.Output.FinishReason != test.finish ||
				!strings.Contains(end.Output.Error.Message, test.says) || end.Output.Text != "I look again." {
				t.Errorf("%s: ended: %+v %+v %+v", name, end, end.Output, end.Output.Error)
			}
			if requests := float64(*end.Usage.InputTokens) / 100; *end.Usage.Cost < requests*0.000999 || *end.Usage.Cost > requests*0.001001 {
				t.Errorf("%s: %g requests cost %g", name, requests, *end.Usage.Cost)
			}
			if warnings := of[domain.BudgetWarned](t, s.sound(id)); len(warnings) != test.warned {
				t.Errorf("%s: warned: %+v", name, warnings)
			}
		}
	})
}

// TestUnknownCost: without prices the cost is null, and money cannot be a bound.
func TestUnknownCost(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, quiet))
	if end := s.ended(s.create().ID); end.Usage.Cost != nil || *end.Usage.TotalTokens != 120 {
		t.Errorf("usage: %+v", end.Usage)
	}
	s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
		object{"source": object{"type": "internal"}, "prompt": "go", "budget": object{"cost": 1}})
}

// TestFallback: the next model of the list answers where one fails for good.
func TestFallback(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusInternalServerError} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			onBoth(t, func(t *testing.T, e engine) {
				broken := newModel(t, func(a *answer, _ []message) { a.Refuse(status, "") })
				sound := newModel(t, inTurn(calls("list", object{}), finally("from the second")))
				s := newServer(t, e, broken)
				s.models(object{"default": "first", "first": entry(broken), "second": entry(sound)})
				s.section("settings", object{"fallbackAfter": 1})
				s.start()
				id := s.create(object{"source": object{"type": "internal", "fallbacks": []string{"second"}}}).ID
				if end := s.ended(id); end.Status != "completed" || end.Output.Text != "from the second" {
					t.Errorf("ended: %+v %+v", end, end.Output)
				}
				switched := of[domain.ModelSwitched](t, s.sound(id))
				if len(switched) != 1 || switched[0].From != "first" || switched[0].To != "second" || switched[0].Message == "" {
					t.Errorf("switched: %+v", switched)
				}
				if sound.requests.Load() != 2 {
					t.Errorf("the second model was asked %d times", sound.requests.Load())
				}
			})
		})
	}
}

// TestCompaction: near the model's limit it is sent a line in place of an old result; the log keeps all.
func TestCompaction(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		seen := ""
		m := newModel(t, func(a *answer, conversation []message) {
			if count(conversation, "tool") < 3 {
				a.Want("read", object{"path": "long.txt"})
				return
			}
			for _, m := range conversation {
				if m.Role == "tool" {
					seen += m.Content + "\n"
				}
			}
			a.Say("done")
		})
		s := newServer(t, e, m)
		s.models(object{"test": entry(m, object{"contextWindow": 6000})})
		must(t, os.WriteFile(filepath.Join(s.workspace, "long.txt"), []byte(strings.Repeat("a line of a log\n", 1300)), 0o600))
		s.start()
		id := s.create().ID
		s.ended(id)
		log := s.sound(id)
		compacted := of[domain.ContextCompacted](t, log)
		if len(compacted) == 0 || compacted[0].Reason != "nearLimit" || compacted[0].After >= compacted[0].Before {
			t.Errorf("compacted: %+v", compacted)
		}
		if !strings.Contains(seen, "[result of") || strings.Count(seen, "a line of a log\n") > 2*1300 {
			t.Errorf("the model was sent %d bytes of results", len(seen))
		}
		for _, fate := range of[domain.ToolCallCompleted](t, log) {
			if strings.Count(fate.Output, "a line of a log\n") < 1000 {
				t.Errorf("the log has lost a result: %d bytes", len(fate.Output))
			}
		}
	})
}

// TestMemory: notes are read where they are wanted, and what an agent writes the next one reads.
func TestMemory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		prompts := make(chan string, 8)
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			prompts <- system(conversation)
			switch {
			case last(conversation).Role == "tool" || last(conversation).Content != "learn":
				a.Say("done")
			default:
				a.Want("memory_write", object{"scope": "runbook", "content": "The disk fills up on Mondays."})
			}
		}))
		s.notes("global", "Be brief.")
		with := object{"memory": object{"enabled": true}, "runbookId": "disks"}

		s.ended(s.create(object{"runbookId": "disks"}).ID)
		if prompt := <-prompts; strings.Contains(prompt, "Be brief.") || strings.Contains(prompt, "<notes") {
			t.Errorf("notes without memory: %s", prompt)
		}
		learning := s.create(with, object{"prompt": "learn"}).ID
		s.decide(s.pending(learning))
		s.ended(learning)
		if first, second := <-prompts, <-prompts; !strings.Contains(first, "Be brief.") || strings.Contains(second, "Mondays") {
			t.Errorf("prompts: %s\n%s", first, second)
		}
		s.ended(s.create(with).ID)
		if prompt := <-prompts; !strings.Contains(prompt, "The disk fills up on Mondays.") {
			t.Errorf("the note was forgotten: %s", prompt)
		}
		s.ended(s.create(with, object{"runbookId": "others"}).ID)
		if prompt := <-prompts; strings.Contains(prompt, "Mondays") {
			t.Errorf("another runbook has the note: %s", prompt)
		}
		response, file := s.do("GET", "/memory/runbook:disks", nil, headers{"Accept": "text/markdown"})
		if response.StatusCode != http.StatusOK || !strings.Contains(string(file), "Mondays") || response.Header.Get("ETag") != `"1"` {
			t.Errorf("MEMORY.md: %s %s", response.Status, file)
		}
	})
}

// TestQuestion: ask_user waits for an answer that fits, and the model gets it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			if last(conversation).Role == "tool" {
				a.Say("told: ", last(conversation).Content)
				return
			}
			a.Want("ask_user", object{"question": "Which disk?", "options": []string{"sda", "sdb"}})
		}))
		id := s.create().ID
		question := s.pending(id)
		if question.Kind != "question" || question.Question.Message != "Which disk?" {
			t.Errorf("asked: %+v", question)
		}
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+question.ID,
			object{"decision": "approve", "argumentsHash": question.ArgumentsHash, "answer": object{"answer": "sdc"}})
		s.decide(question, object{"answer": object{"answer": "sdb", "comment": "the new one"}})
		if end := s.ended(id); end.Output.Text != "told: The person answers: sdb\nThe person adds: the new one" {
			t.Errorf("ended: %+v", end.Output)
		}
		s.sound(id)
	})
}

// TestFiles: the tools of files do to real files what they say.
func TestFiles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, inTurn(
			calls("write", object{"path": "src/new.go", "content": "package src\n\nvar port = 80\n"}),
			calls("edit", object{"path": "src/new.go", "oldText": "port = 80", "newText": "port = 8080"}),
			calls("edit", object{"path": "src/new.go", "oldText": "not there", "newText": "x"}),
			calls("patch", object{"patch": "--- /dev/null\n+++ b/src/other.go\n@@ -0,0 +1 @@\n+package src\n--- a/src/new.go\n+++ b/src/new.go\n@@ -1 +1,2 @@\n package src\n+// New.\n"}),
			calls("patch", object{"patch": "--- a/src/other.go\n+++ b/src/other.go\n@@ -1 +1 @@\n-package src\n+package gone\n--- a/src/new.go\n+++ b/src/new.go\n@@ -1 +1 @@\n-package none\n+x\n"}),
			calls("list", object{"pattern": "*.go"}),
			calls("search", object{"pattern": `port\s*=\s*\d+`, "glob": "*.go"}),
			calls("write", object{"path": "../outside.txt", "content": "x"}),
			calls("bash", object{"command": "seq 1 20000"}),
			func(a *answer, conversation []message) { a.Say(last(conversation).Content) },
		)))
		id := s.create(object{"capabilities": object{"write": "allow", "execute": "allow"}}).ID
		end := s.ended(id)
		got := s.outcomes(id)
		for i, wanted := range []outcome{
			{fate: domain.FateSucceeded}, {fate: domain.FateSucceeded}, {domain.FateFailed, "", "not"}, {fate: domain.FateSucceeded},
			{fate: domain.FateFailed}, {domain.FateSucceeded, "", "src/other.go"}, {domain.FateSucceeded, "", "src/new.go:4: var port = 8080"},
			{domain.FateFailed, "", "outside"}, {domain.FateSucceeded, "", "20000"},
		} {
			if got[i].fate != wanted.fate || !strings.Contains(got[i].text, wanted.text) {
				t.Errorf("call %d: %s %s", i, got[i].fate, got[i].text)
			}
		}
		for name, wanted := range map[string]string{"src/new.go": "package src\n// New.\n\nvar port = 8080\n", "src/other.go": "package src\n"} {
			if content, err := os.ReadFile(filepath.Join(s.workspace, name)); err != nil || string(content) != wanted {
				t.Errorf("%s: %q %v", name, content, err)
			}
		}
		if text := end.Output.Text; len(text) > 40<<10 || !strings.Contains(text, "output:") {
			t.Errorf("of a long output the model was given %d bytes", len(text))
		}
	})
}

// TestRememberedCommand: a decision about one call answers its siblings, in the execution or everywhere, until somebody
// takes it back.
func TestRememberedCommand(t *testing.T) {
	t.Parallel()
	type rule struct {
		ID, Scope string
		Hits      int
	}
	onBoth(t, func(t *testing.T, e engine) {
		s := up(t, e, newModel(t, func(a *answer, conversation []message) {
			if last(conversation).Role == "tool" {
				a.Say("done")
				return
			}
			a.Bash("git log --oneline")
			a.Bash("git log --stat")
			a.Bash("git push origin")
		}))
		rules := func() []rule {
			return want[list[rule]](s.client, http.StatusOK, "GET", "/permission-rules", nil).Items
		}
		first := s.create().ID
		asked := s.asked(first, 3)
		s.decide(about(t, asked, "--oneline"), object{"remember": object{"scope": "execution", "previewId": "command"}})
		s.eventually("the sibling's release", func() bool {
			return want[approval](s.client, http.StatusOK, "GET", "/approvals/"+about(t, asked, "--stat").ID, nil).Status == "approved"
		})
		s.decide(s.pending(first), object{"decision": "deny"})
		s.ended(first)
		if by := s.outcomesBy(first); by["git log --stat"] != "rule" || by["git push origin"] != "decision" {
			t.Errorf("decided by: %v", by)
		}

		second := s.create().ID
		asked = s.asked(second, 3) // the rule was the first execution's
		s.decide(about(t, asked, "--stat"), object{"remember": object{"scope": "global", "previewId": "command"}})
		s.decide(about(t, asked, "push"), object{"decision": "deny"})
		s.ended(second)

		third := s.create().ID
		s.decide(s.pending(third), object{"decision": "deny"})
		s.ended(third)
		if by := s.outcomesBy(third); by["git log --oneline"] != "rule" || by["git log --stat"] != "rule" {
			t.Errorf("decided by: %v", by)
		}

		var global rule
		for _, r := range rules() {
			if r.Scope == "global" {
				global = r
			}
		}
		if global.Hits != 3 {
			t.Errorf("rules: %+v", rules())
		}
		dry := object{"tool": "bash", "arguments": object{"command": "git log -3"}}
		if got := want[struct{ Decision, RuleID string }](s.client, http.StatusOK, "POST", "/policy/evaluate", dry); got.Decision != "allow" || got.RuleID != global.ID {
			t.Errorf("dry run: %+v", got)
		}
		want[object](s.client, http.StatusOK, "DELETE", "/permission-rules/"+global.ID, nil)
		fourth := s.create().ID
		for _, a := range s.asked(fourth, 3) {
			s.decide(a, object{"decision": "deny"})
		}
		s.ended(fourth)
		actions := map[string]int{}
		for _, entry := range want[list[auditEntry]](s.client, http.StatusOK, "GET", "/audit?limit=200", nil).Items {
			actions[entry.Action]++
		}
		if actions["rule.created"] != 2 || actions["rule.revoked"] != 1 {
			t.Errorf("of the rules, the audit has: %v", actions)
		}
	})
}

// about finds the approval whose command says something.
func about(t *testing.T, all []approval, says string) approval {
	t.Helper()
	for _, a := range all {
		if strings.Contains(string(a.Arguments), says) {
			return a
		}
	}
	t.Fatalf("nobody asks about %q: %+v", says, all)
	return approval{}
}

// outcomesBy tells what decided each command.
func (s *server) outcomesBy(id string) map[string]string {
	s.t.Helper()
	by := map[string]string{}
	for _, entry := range s.audit(id) {
		if entry.Record.Details.Command != "" {
			by[entry.Record.Details.Command] = entry.Record.DecidedBy
		}
	}
	return by
}

// TestFetchStaysOutside: web_fetch is not led into the network that the server stands in, also where a person approves.
func TestFetchStaysOutside(t *testing.T) {
	t.Parallel()
	var addresses []string
	s := newServer(t, engine{}, newModel(t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			a.Say("done")
			return
		}
		for _, address := range addresses {
			a.Want("web_fetch", object{"url": address})
		}
	}))
	s.start()
	port := s.Base[strings.LastIndex(s.Base, ":")+1:]
	addresses = []string{
		s.Base + "/openapi.yaml", "http://localhost:" + port + "/approvals", "http://[::1]:" + port + "/", "http://[::ffff:127.0.0.1]:" + port + "/",
		"http://0.0.0.0:" + port + "/", "http://2130706433:" + port + "/", "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
	}
	id := s.create(object{"capabilities": object{"network": "allow"}}).ID
	s.ended(id)
	got := s.outcomes(id)
	for i, address := range addresses {
		if got[i].fate != domain.FateFailed || strings.Contains(got[i].text, "openapi") {
			t.Errorf("%s: %s %s", address, got[i].fate, got[i].text)
		}
	}
}

// TestAuditShowsTampering: whoever may write to the database can take off the triggers and change the past; the chain
// shows it.
func TestAuditShowsTampering(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"changed": `update audit set record = replace(record, 'not on a Friday', 'yes, of course') where record like '%not on a Friday%'`,
		"removed": `delete from audit where seq = 2`,
		"cut off": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := up(t, engine{}, newModel(t, once("touch never.txt")))
			id := s.create().ID
			s.decide(s.pending(id), object{"decision": "deny", "reason": "not on a Friday"})
			s.ended(id)
			s.stop()
			out, errOut, code := s.command("audit", "verify")
			if code != 0 || !strings.HasPrefix(out, "ok ") {
				t.Fatalf("before: exit %d: %s%s", code, out, errOut)
			}
			args := []string{"audit", "verify"}
			if statement == "" { // the newest entries are gone; only a head that was kept elsewhere tells
				fields := strings.Fields(out)
				args = append(args, "--tenant", fields[1], "--keep", fields[len(fields)-1])
				statement = `delete from audit where seq = (select max(seq) from audit)`
			}
			s.tamper(statement)
			if out, errOut, code := s.command(args...); code != 1 || !strings.HasPrefix(out, "BROKEN") {
				t.Errorf("after: exit %d: %s%s", code, out, errOut)
			}
		})
	}
}

// tamper changes the audit of a server that is down. The database itself refuses, until its triggers are taken off.
func (s *server) tamper(statement string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.data(), "signoff.db"))
	must(s.t, err)
	defer db.Close()
	if _, err := db.Exec(statement); err == nil {
		s.t.Error("the database lets the audit be changed")
	}
	for _, trigger := range []string{"audit_is_kept", "audit_is_not_emptied"} {
		_, err := db.Exec("drop trigger " + trigger)
		must(s.t, err)
	}
	result, err := db.Exec(statement)
	must(s.t, err)
	if changed, _ := result.RowsAffected(); changed == 0 {
		s.t.Error("nothing was changed")
	}
}

// TestSecretsOfOthers: a name that the request does not list is refused, whoever would approve it.
func TestSecretsOfOthers(t *testing.T) {
	t.Parallel()
	s := up(t, engine{}, newModel(t, inTurn(calls("bash", object{"command": "echo $CANARY", "secrets": []string{"canary"}}), finally("done"))))
	for name, test := range map[string]struct {
		request object
		fate    domain.Fate
		says    string
	}{
		"not listed": {object{}, domain.FateDenied, "canary"},
		"listed":     {object{"secrets": []string{"canary"}}, domain.FateSucceeded, secrets.Masked},
	} {
		id := s.create(test.request, object{"capabilities": object{"execute": "allow"}, "safeMode": false}).ID
		s.ended(id)
		if got := s.outcomes(id); len(got) != 1 || got[0].fate != test.fate || !strings.Contains(got[0].text, test.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s.refused(http.StatusUnprocessableEntity, "unknownSecret", "POST", "/executions",
		object{"source": object{"type": "internal"}, "prompt": "go", "secrets": []string{"nobody"}})
}

package http

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/tools"
)

// claim is what a page says of policy, in its own words, and the calls that show it. What a page does not say in these words any
// more, and what the policy does not do, fails.
type claim struct {
	page  string
	words string   // as they stand in the page, but for the ends of lines
	under string   // settings of the request, as JSON without the outer braces; see examples for those that a page has
	calls []string // "decision by: command"; a word in capitals is the argument of another tool
}

const (
	readme        = "README.md"
	policyPage    = "docs/policy.md"
	approvalsPage = "docs/approvals.md"

	all     = `"capabilities":{"read":"allow","write":"allow","execute":"allow","network":"allow"}`
	trusted = `"safeMode":false`
	onHost  = `"environment":"host"`
)

func bash(byDefault, denial string, rules ...string) string {
	return `"tools":{"bashPolicy":{"defaultBehavior":"` + byDefault + `","denyBehavior":"` + denial + `","rules":[` + strings.Join(rules, ",") + `]}}`
}

func allowing(pattern string) string { return patterned("allow", pattern) }
func denying(pattern string) string  { return patterned("deny", pattern) }

func patterned(action, pattern string) string {
	return `{"name":"` + action + `","action":"` + action + `","pattern":` + string(domain.Encode(pattern)) + `}`
}

func matching(effect, matcher string) string {
	return `"policy":{"rules":[{"effect":"` + effect + `","matcher":` + matcher + `}]}`
}

// claims of the pages, each in the order of its page. A setting that begins with EXAMPLE is the first JSON behind that heading.
var claims = []claim{
	{readme, "Reading the workspace is allowed, the rest asks a person.", ``, []string{"allow capability: READ a", "ask capability: WRITE a", "ask capability: ls"}},
	{readme, "Then `df -h | sort` runs at once, and `rm old.log` waits for you.", "EXAMPLE ## What an agent may do", []string{
		"allow bashPolicy: df -h | sort", "ask bashPolicy: rm old.log"}},
	{readme, "what hides behind a pipe, a substitution or `sh -c` is judged as well", "EXAMPLE ## What an agent may do", []string{
		"ask bashPolicy: df -h | sh", "ask bashPolicy: ls $(rm x)", "ask bashPolicy: sh -c 'rm x'", "allow bashPolicy: sh -c 'df -h | sort'"}},
	{readme, "what cannot be read with certainty asks", "EXAMPLE ## What an agent may do", []string{"ask bashPolicy: ls $A"}},

	{policyPage, "`echo hi > a.txt` needs `execute` and `write`", all, []string{"allow capability: echo hi > a.txt"}},
	{policyPage, "The strictest counts.", `"capabilities":{"write":"ask","execute":"allow"}`, []string{"allow capability: echo hi", "ask capability: echo hi > a.txt"}},
	{policyPage, "a command that is granted hosts needs `network` too", `"capabilities":{"execute":"allow"}`, []string{"allow capability: ls", "ask capability: HOSTS ls"}},
	{policyPage, "all others are refused", `"tools":{"enabled":["read"]}`, []string{"deny tools: ls", "allow capability: READ a"}},
	{policyPage, "all others are refused", `"secrets":[]`, []string{"deny tools: SECRET ls"}},

	{policyPage, "`defaultBehavior` decides over other commands", bash("allow", "hitl", denying("^rm")), []string{"allow bashPolicy: ls", "ask bashPolicy: rm x"}},
	{policyPage, "the first that matches a command decides over it", bash("deny", "hitl", allowing("^ls -l"), denying("^ls"), allowing("^ls -a")), []string{
		"allow bashPolicy: ls -l", "ask bashPolicy: ls -a"}},
	{policyPage, "with `hitl` a denied command asks a person", "EXAMPLE ## The bash policy", []string{"ask bashPolicy: rm x", "allow bashPolicy: ls", "ask bashPolicy: make"}},
	{policyPage, "With `block` it is refused, and nothing overrides that: no rule, no safe mode, no decider.", trusted + "," + all + "," + bash("allow", "block", denying("^rm")) + "," + matching("allow", `{"command":"rm *"}`), []string{
		"deny bashPolicy: rm x"}},
	{policyPage, "commands are judged by their capabilities alone; unclear and catastrophic commands ask nevertheless", all, []string{
		"allow capability: ls", "allow capability: make", "ask bashPolicy: ls $A", "ask catastrophic: rm -rf /"}},

	{policyPage, "every simple command in it is judged by itself: in lists, pipes, groups, loops, substitutions, here-documents, and behind `timeout`, `env`, `xargs`, `find -exec`, `sh -c`, `eval` and their like",
		all + "," + bash("allow", "block", denying("^secretly")), []string{
			"deny bashPolicy: ls; secretly", "deny bashPolicy: ls && secretly", "deny bashPolicy: ls | secretly", "deny bashPolicy: { secretly; }", "deny bashPolicy: (secretly)",
			"deny bashPolicy: for i in 1; do secretly; done", "deny bashPolicy: ls $(secretly)", "deny bashPolicy: cat <<E\n$(secretly)\nE", "deny bashPolicy: bash <<E\nsecretly\nE",
			"deny bashPolicy: timeout 5 secretly", "deny bashPolicy: env A=b secretly", "deny bashPolicy: ls | xargs secretly", `deny bashPolicy: find . -exec secretly {} \;`, "deny bashPolicy: sh -c secretly",
			"deny bashPolicy: eval secretly",
		}},
	{policyPage, "One denied command denies the line; to be allowed, all of them must be.", bash("deny", "hitl", allowing(`^ls\b`)), []string{"allow bashPolicy: ls; ls -l", "ask bashPolicy: ls; make"}},
	{policyPage, "An **allow** rule must match from the first character on, at least to the end of the program's name.", bash("deny", "hitl", allowing(`cat\b`)), []string{
		"allow bashPolicy: cat x", "ask bashPolicy: zcat x", "ask bashPolicy: cat-and-mail x"}},
	{policyPage, "A **deny** rule finds its pattern anywhere, also in the line as a whole, and knows `/bin/rm` for `rm`.", all + "," + bash("allow", "block", denying("^rm"), denying("curl.*sort")), []string{
		"deny bashPolicy: /bin/rm x", "deny bashPolicy: curl x | sort"}},
	{policyPage, "So write `^cat\\b`, and never `.*cat.*`, to allow.", bash("deny", "hitl", allowing(`.*cat.*`)), []string{"allow bashPolicy: make cat"}},
	{policyPage, "So write `^cat\\b`, and never `.*cat.*`, to allow.", bash("deny", "hitl", allowing(`^cat\b`)), []string{"allow bashPolicy: cat x", "ask bashPolicy: make cat"}},
	{policyPage, "`^npm test\\b` also allows `npm test --script-shell=./x`, which runs `./x`", bash("deny", "hitl", allowing(`^npm test\b`)), []string{"allow bashPolicy: npm test", "allow bashPolicy: npm test --script-shell=./x"}},
	{policyPage, "To allow no more than the words, end the pattern with `$`.", bash("deny", "hitl", allowing(`^npm test$`)), []string{"allow bashPolicy: npm test", "ask bashPolicy: npm test --script-shell=./x"}},
	{policyPage, "So it warns of `^npm\\s+test`, `^n.m test` and `^npm test \\S+$`, which also allow `npm test --script-shell=./x`.", bash("deny", "hitl", allowing(`^npm\s+test`)), []string{"allow bashPolicy: npm test --script-shell=./x"}},
	{policyPage, "So it warns of `^npm\\s+test`, `^n.m test` and `^npm test \\S+$`, which also allow `npm test --script-shell=./x`.", bash("deny", "hitl", allowing(`^n.m test`)), []string{"allow bashPolicy: npm test --script-shell=./x"}},
	{policyPage, "So it warns of `^npm\\s+test`, `^n.m test` and `^npm test \\S+$`, which also allow `npm test --script-shell=./x`.", bash("deny", "hitl", allowing(`^npm test \S+$`)), []string{"allow bashPolicy: npm test --script-shell=./x"}},
	{policyPage, "`sudo`, `ssh`, `docker exec` and other programs that carry a command elsewhere need a rule of their own.", bash("deny", "hitl", allowing(`^ls\b`)), []string{
		"ask bashPolicy: sudo ls", "ask bashPolicy: ssh host ls", "ask bashPolicy: docker exec web ls"}},
	{policyPage, "`sudo`, `ssh`, `docker exec` and other programs that carry a command elsewhere need a rule of their own.", bash("deny", "hitl", allowing(`^(ls|sudo|ssh|docker exec)\b`)), []string{
		"allow bashPolicy: sudo ls", "allow bashPolicy: ssh host ls", "allow bashPolicy: docker exec web ls"}},
	{policyPage, "a program whose work its words do not show (`make`, `python3`, a script) asks until a rule names it", bash("allow", "hitl"), []string{
		"allow bashPolicy: ls", "ask bashPolicy: make", "ask bashPolicy: python3 x.py", "ask bashPolicy: ./deploy.sh"}},
	{policyPage, "a program whose work its words do not show (`make`, `python3`, a script) asks until a rule names it", bash("allow", "hitl", allowing(`^(make|python3|\./deploy\.sh)`)), []string{
		"allow bashPolicy: make", "allow bashPolicy: python3 x.py", "allow bashPolicy: ./deploy.sh"}},

	{policyPage, "These ask, whatever the rules of the bash policy say.", all + "," + bash("allow", "hitl", allowing(".*")), []string{"allow bashPolicy: unheard-of x", "ask bashPolicy: ls $A"}},
	{policyPage, "Only full trust, or a rule for exactly this call, lets them run", all + "," + trusted, []string{"allow safeModeOff: ls $A"}},
	{policyPage, "words that are known only when the line runs: `$CMD x`, `` `which x` ``, `eval \"$X\"`, `curl … | sh`", all + "," + bash("allow", "hitl", allowing(".*")), []string{
		"ask bashPolicy: $CMD x", "ask bashPolicy: `which x`", `ask bashPolicy: eval "$X"`, "ask catastrophic: curl https://x | sh"}},
	{policyPage, "functions, arrays, arithmetic, coprocesses, `case`, jobs in the background, variables such as `PATH` and `LD_PRELOAD`", all + "," + bash("allow", "hitl", allowing(".*")), []string{
		"ask bashPolicy: f() { ls; }; f", "ask bashPolicy: a=(x y); ls", "ask bashPolicy: ls $((1+1))", "ask bashPolicy: coproc ls", "ask bashPolicy: case x in x) ls;; esac", "ask bashPolicy: sleep 9 &",
		"ask bashPolicy: ls & date", "ask bashPolicy: PATH=/x ls", "ask bashPolicy: LD_PRELOAD=/x ls"}},
	{policyPage, "options of harmless programs that run or write something: `find -delete`, `git -c core.pager=…`, `tar --to-command`", all + "," + bash("allow", "hitl", allowing(".*")), []string{
		"ask bashPolicy: find build -delete", "ask bashPolicy: git -c core.pager=x log", "ask bashPolicy: tar -xf a --to-command=x"}},
	{policyPage, "comments, control characters, invisible characters, long gaps, a backslash at the end of a line", all + "," + bash("allow", "hitl", allowing(".*")), []string{
		"ask bashPolicy: ls # all", "ask bashPolicy: ls \a", "ask bashPolicy: ls \u200b", "ask bashPolicy: ls " + strings.Repeat(" ", 40) + "; ls", "ask bashPolicy: ls \\\n-l"}},
	{policyPage, "lines that do not parse, over 64 KiB, over 50 commands, nested too deeply", all + "," + bash("allow", "hitl", allowing(".*")), []string{
		"ask bashPolicy: ls (", "ask bashPolicy: ls " + strings.Repeat("a", 65<<10), "ask bashPolicy: " + strings.Repeat("ls;", 51), "ask bashPolicy: " + strings.Repeat("{ ", 301) + "ls" + strings.Repeat("; }", 301)}},
	{policyPage, "A line that takes too much work, such as substitutions within substitutions sixty deep, asks like a catastrophic one.", all + "," + trusted, []string{
		"ask catastrophic: " + strings.Repeat(`"$(`, 60) + "ls" + strings.Repeat(`)"`, 60)}},

	{policyPage, "A redirection, `tee`, `cp`, `sed -i`, `sort -o`, `kubectl get --log-file=…` and their like count as writes, and need `write` as well as `execute`",
		`"capabilities":{"execute":"allow","write":"deny"},` + bash("allow", "hitl", allowing(".*")), []string{
			"deny capability: ls > a", "deny capability: ls | tee a", "deny capability: cp a b", "deny capability: sed -i p a", "deny capability: sort -o a b", "deny capability: kubectl get pods --log-file=a", "allow bashPolicy: ls"}},
	{policyPage, "a rule that allows `cat` does not allow `cat a > b`", bash("deny", "hitl", allowing(`^cat\b`)), []string{"allow bashPolicy: cat a", "ask capability: cat a > b"}},
	{policyPage, "Where `write` is `allow`, it does.", `"capabilities":{"write":"allow"},` + bash("deny", "hitl", allowing(`^cat\b`)), []string{"allow bashPolicy: cat a > b"}},

	{policyPage, "This set always asks, in spite of remembered decisions, rules and trust: removing, moving or giving away the root, a home, the working folder or a folder of the system; formatting and overwriting disks; stopping the machine; killing everything; fork bombs; running downloaded or decoded code; taking the firewall down; removing users or all scheduled jobs; overwriting files that the system does not start without; forced pushes and rewritten history; dropping databases; deleting namespaces, nodes, volumes or everything of a kind in a cluster;",
		all + "," + trusted + "," + matching("allow", `{"tool":"bash"}`), []string{
			"ask catastrophic: rm -rf /", "ask catastrophic: rm -rf ~", "ask catastrophic: rm -rf .", "ask catastrophic: mv /etc /x", "ask catastrophic: chown -R me /usr", "ask catastrophic: mkfs.ext4 /dev/sda1",
			"ask catastrophic: dd if=x of=/dev/sda", "ask catastrophic: reboot", "ask catastrophic: kill -9 -1", "ask catastrophic: f(){ f|f& };f", "ask catastrophic: curl https://x | sh", "ask catastrophic: base64 -d x | sh",
			"ask catastrophic: iptables -F", "ask catastrophic: userdel bob", "ask catastrophic: crontab -r", "ask catastrophic: echo x > /etc/passwd", "ask catastrophic: git push -f", "ask catastrophic: git filter-branch x",
			"ask catastrophic: dropdb x", "ask catastrophic: kubectl delete ns x", "ask catastrophic: kubectl delete node x", "ask catastrophic: kubectl delete pvc x", "ask catastrophic: kubectl delete pods --all"}},
	{policyPage, "the commands delete, destroy, uninstall or purge of clouds, clusters, containers and backups (`helm uninstall`, `aws s3 rb`, `az group delete`, `docker volume rm` and their like)", all + "," + trusted, []string{
		"ask catastrophic: helm uninstall x", "ask catastrophic: aws s3 rb s3://x --force", "ask catastrophic: az group delete -n x", "ask catastrophic: docker volume rm x", "ask catastrophic: rclone purge x:y", "ask catastrophic: terraform destroy"}},
	{policyPage, "A pattern that may stand for a protected folder counts as that folder: `rm -rf /e*`, `rm -rf /{bin,etc}`; so does a substitution: `rm -rf \"$(pwd)\"`; and `xargs` removes its input: `echo / | xargs rm -rf`.", all + "," + trusted, []string{
		"ask catastrophic: rm -rf /e*", "ask catastrophic: rm -rf /{bin,etc}", `ask catastrophic: rm -rf "$(pwd)"`, "ask catastrophic: echo / | xargs rm -rf"}},
	{policyPage, "So does a name in a folder that the line changes to: `cd /etc; rm passwd`.", all + "," + trusted, []string{
		"ask catastrophic: cd /etc; rm passwd", "allow safeModeOff: cd /srv; rm passwd"}},
	{policyPage, "Lines that only show something are not in the set (`--help`, `git push --dry-run --force`, `kubectl delete ns x --dry-run=client`, `fdisk -l`), nor is a name that reads like a sub-command: `helm status delete`.", all + "," + trusted, []string{
		"allow safeModeOff: dropdb --help", "allow safeModeOff: git push --dry-run --force", "allow safeModeOff: kubectl delete ns x --dry-run=client", "allow safeModeOff: fdisk -l", "allow safeModeOff: helm status delete"}},

	{policyPage, "a rule for `git log *` allows no `git log > f`, none with a secret or with hosts", `"secrets":["github"],` + matching("allow", `{"command":"git log *"}`), []string{
		"allow rule: git log -1", "ask capability: git log > f", "ask capability: SECRET git log", "ask capability: HOSTS git log"}},
	{policyPage, "a rule for `rm *` holds back `ls; /bin/rm -f x`", all + "," + matching("deny", `{"command":"rm *"}`), []string{"deny rule: ls; /bin/rm -f x", "allow capability: ls"}},
	{policyPage, "Where it cannot be told whether a restriction is about a call, the call asks: a command line that is unclear, or writes where that is not plain; a search of a folder in which the path lies;",
		all + "," + matching("deny", `{"path":"/secret/**"}`), []string{"ask rule: ls $A", "ask rule: cd x; ls > y", "deny rule: ls > /secret/y", "ask rule: READ /"}},
	{policyPage, "What the line itself shows is denied before that.", all + "," + matching("deny", `{"class":"write","path":"/srv/app/**"}`), []string{"deny rule: echo x > /srv/app/x", "allow capability: ./script"}},
	{policyPage, "the path is a pattern; `/srv/app` and `/srv/app/**` are none", all + "," + matching("deny", `{"path":"/**/.env"}`), []string{"ask rule: ./script", "allow capability: READ a"}},
	{policyPage, "the path is a pattern; `/srv/app` and `/srv/app/**` are none", all + "," + matching("deny", `{"path":"/srv/app"}`), []string{"allow capability: ./script"}},
	{policyPage, "the rule also names a `command` or an `argumentsHash`", all + "," + matching("deny", `{"path":"/srv/app","command":"make *"}`), []string{"ask rule: make", "allow capability: ls"}},
	{policyPage, "A rule about a path that commands do not see, such as `/home/**` for a working directory in `/srv`, changes nothing for them.", all + "," + matching("deny", `{"path":"/home/*/x"}`), []string{"allow capability: ls"}},
	{policyPage, "`{\"scope\": \"global\", \"effect\": \"deny\", \"matcher\": {\"path\": \"/srv/secrets/**\"}}`", all + "," + matching("deny", `{"path":"/srv/secrets/**"}`), []string{"deny rule: WRITE /srv/secrets/x"}},
	{policyPage, "`policy.unattended: true` is for executions at night that nobody watches: what would ask is refused at once", `"policy":{"unattended":true}`, []string{"deny unattended: ls", "allow capability: READ a"}},
	{policyPage, "`safeMode: false` is full trust: nothing asks but the catastrophic and what a rule asks about, and nothing is refused but what is off, denied or blocked", trusted + "," + matching("ask", `{"command":"make *"}`), []string{
		"allow safeModeOff: unheard-of x", "ask catastrophic: rm -rf /", "ask rule: make x"}},
	{policyPage, "`safeMode: false` is full trust: nothing asks but the catastrophic and what a rule asks about, and nothing is refused but what is off, denied or blocked", trusted + `,"capabilities":{"execute":"deny"}`, []string{"deny capability: ls"}},

	{approvalsPage, "A person is asked where a capability says `ask`, where a rule says so, where the bash policy denies or cannot judge a command, where the definition of an [MCP tool](mcp.md#policy-and-pins) has changed, and before every catastrophic one.",
		bash("deny", "hitl", allowing(`^ls\b`)) + "," + matching("ask", `{"command":"ls -x *"}`), []string{
			"ask capability: WRITE a", "ask rule: ls -x a", "ask bashPolicy: make", "ask rule: ls $A", "ask catastrophic: rm -rf /"}},
	{approvalsPage, "**No rule allows** catastrophic commands, calls that a capability denies, and commands that a bash policy blocks.", `"capabilities":{"write":"deny"},` + bash("allow", "block", denying("^make")) + "," + matching("allow", `{"tool":"bash"}`), []string{
		"ask catastrophic: reboot", "deny capability: ls > a", "deny bashPolicy: make", "allow rule: ls"}},
	{approvalsPage, "A wide option also allows nothing unclear, and nothing that gets secrets.", `"secrets":["github"],` + matching("allow", `{"tool":"bash"}`), []string{"ask bashPolicy: ls $A", "ask capability: SECRET ls"}},
	{policyPage, "Such a call asks.", onHost, []string{"ask capability: uptime", "ask capability: WRITE a", "ask capability: READ /etc/hostname", "allow capability: READ a"}},
	{policyPage, "`execute: allow`, `safeMode: false`, a bash policy and `policy.rules` allow nothing here", onHost + "," + all + "," + trusted + "," + bash("allow", "hitl", allowing("^uptime")) + "," +
		matching("allow", `{"tool":"bash"}`), []string{"ask capability: uptime"}},
	{policyPage, "In an unattended execution it is refused.", onHost + `,"policy":{"unattended":true}`, []string{"deny unattended: uptime", "allow environment: systemctl status app"}},
	{policyPage, "every simple command of the line must be covered", onHost, []string{
		"allow environment: systemctl status app", "allow environment: systemctl status app | systemctl status db", "ask capability: systemctl status app; rm y",
		"ask bashPolicy: systemctl status $(cat name)", "ask capability: systemctl status app > out.txt", "ask bashPolicy: PAGER=less systemctl status app"}},
}

// described are real tools.
type described struct{ registry *tools.Registry }

func (d described) Names() (known []string) {
	for _, definition := range d.registry.Definitions() {
		known = append(known, definition.Name)
	}
	return known
}

func (described) Missing(string) string              { return "" }
func (described) OfMCPServers(string, []string) bool { return false }

func (d described) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	return d.registry.Describe(tool, arguments, request.WorkingDirectory)
}

func newJudgingServer(t *testing.T) *testServer {
	t.Helper()
	real := described{tools.NewRegistry(tools.Bash{}, tools.Read{}, tools.Write{}, tools.List{}, tools.Search{}, tools.Think{})}
	return newTestServerWith(t, func(c *admission.Config) { c.Tools = real }, func(c *Config) {
		desk := approvals.NewService(c.Reader.(*store.Store), c.Log.(*events.Log), real) //nolint:forcetypeassert // see newTestServer
		desk.IsolateCommands(func(e domain.Environment) approvals.Isolation {
			return sessions.IsolationIn(sessionstest.Sandbox{Kind: "bubblewrap"}, e)
		})
		desk.UseEnvironments(admissiontest.Environments())
		c.Approvals = desk
	})
}

// TestThePagesClaimWhatThePolicyDoes: each claim stands in its page, and a dry run on a server answers accordingly.
func TestThePagesClaimWhatThePolicyDoes(t *testing.T) {
	h := newJudgingServer(t)
	for _, c := range claims {
		page := documentText(t, c.page)
		if !strings.Contains(flat(page), flat(c.words)) {
			t.Errorf("%s does not say: %s", c.page, c.words)
		}
		under := c.under
		if heading, isExample := strings.CutPrefix(under, "EXAMPLE "); isExample {
			under = example(t, page, heading)
		}
		for _, said := range c.calls {
			wanted, line, _ := strings.Cut(said, ": ")
			a := h.ask("POST", "/policy/evaluate", evaluation(line, under)).want(200)
			if got := a.text("decision") + " " + a.text("decidedBy"); got != wanted {
				t.Errorf("%s: %s\n%.200q is %s, and the page says %s: %s", c.page, c.words, line, got, wanted, a.text("reason"))
			}
		}
	}
}

// evaluation is a dry run of a line: of bash, with or without hosts and secrets, or of another tool.
func evaluation(line, under string) string {
	tool, arguments := "bash", map[string]any{"command": line}
	if first, rest, cut := strings.Cut(line, " "); cut && first == strings.ToUpper(first) && regexp.MustCompile(`^[A-Z]+$`).MatchString(first) {
		switch first {
		case "READ":
			tool, arguments = "read", map[string]any{"path": rest}
		case "WRITE":
			tool, arguments = "write", map[string]any{"path": rest, "content": "x"}
		case "HOSTS":
			arguments = map[string]any{"command": rest, "hosts": []string{"example.org"}}
		case "SECRET":
			arguments = map[string]any{"command": rest, "secrets": []string{"github"}}
		}
	}
	body := `{"tool":"` + tool + `","arguments":` + string(domain.Encode(arguments))
	if under != "" {
		body += "," + under
	}
	return body + "}"
}

func documentText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	must(t, err)
	return string(text)
}

func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// example is what is about policy in the first JSON object behind a heading of a page.
func example(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(page, heading+"\n")
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	var object map[string]json.RawMessage
	must(t, json.NewDecoder(strings.NewReader(section[strings.Index(section, "{"):])).Decode(&object))
	var kept []string
	for _, name := range []string{"capabilities", "tools", "policy", "safeMode", "secrets"} {
		if value, there := object[name]; there {
			kept = append(kept, `"`+name+`":`+string(value))
		}
	}
	return strings.Join(kept, ",")
}

// TestEveryCommandOfThePagesIsClaimed: what stands between backticks where the pages tell of policy is a word of the contract, a
// route, a piece of JSON, a row of a table that another test runs, or a part of a claim.
func TestEveryCommandOfThePagesIsClaimed(t *testing.T) {
	contract := documentText(t, "api/openapi.yaml")
	known := map[string]bool{}
	for _, word := range regexp.MustCompile(`[\w.:-]+`).FindAllString(contract, -1) {
		known[strings.Trim(word, ".:")] = true
	}
	// What is in the tables is run by test/house.TestTheExamplePolicyDoesWhatItsPageSays and TestThePolicyIsDocumented; the others
	// are values, and things that are not commands.
	known["internal/approvals/shell/testdata"], known["signoff audit verify"], known["signoff doctor"], known["*.name"], known["**"], known["*"], known["?ended=true"], known["isolation.name"] = true, true, true, true, true, true, true, true
	for _, word := range []string{"/var/log", "signoff.yaml", "systemctl", "journalctl", "docker"} { // of README's table of environments, which test/e2e tries
		known[word] = true
	}
	programs := []string{"rm", "sudo", "ssh", "make", "timeout", "env", "xargs", "eval", "tee", "cp", "cat", "python3", "case"}
	for page, section := range map[string][2]string{
		readme: {"## What an agent may do", "## What holds"}, policyPage: {"# Policy", "### An example that looks around"}, approvalsPage: {"## Who asks, and when", "## What the hash covers"},
	} {
		text := documentText(t, page)
		from, to := strings.Index(text, section[0]), strings.Index(text, section[1])
		if from < 0 || to < from {
			t.Fatalf("%s has no sections %q", page, section)
		}
		text = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text[from:to], "")
		for _, span := range regexp.MustCompile("`` .+? ``|`[^`]+`").FindAllString(text, -1) {
			word := strings.Trim(span, "` ")
			switch {
			case claimed(page, word):
			case known[word] && !slices.Contains(programs, word):
			case regexp.MustCompile(`^(GET|POST|DELETE|PUT) /|^/[a-z-]+$`).MatchString(word):
			case regexp.MustCompile(`^[a-zA-Z.]+: [a-z]+$`).MatchString(word) && known[strings.Split(word, ":")[0]]:
			case json.Valid([]byte(word)):
			default:
				t.Errorf("%s says %s, which no claim is about", page, span)
			}
		}
	}
}

func claimed(page, word string) bool {
	return slices.ContainsFunc(claims, func(c claim) bool {
		return c.page == page && strings.Contains(flat(c.words), "`"+word+"`") || strings.Contains(flat(c.words), "`` "+word+" ``") ||
			slices.ContainsFunc([]string{"`" + word + "`", word}, func(w string) bool { return strings.Contains(flat(c.words), w) && c.page == page })
	})
}

// TestEveryRowOfTheNineStepsHappens: for each row of the table there is a call that is decided so, at that step.
func TestEveryRowOfTheNineStepsHappens(t *testing.T) {
	examples := map[string][2]string{ // step and who decides: line and settings
		"1 tools": {"ls", `"tools":{"enabled":[]}`}, "1 capability": {"ls", `"capabilities":{"execute":"deny"}`},
		"1 bashPolicy": {"rm x", bash("allow", "block", denying("^rm"))}, "2 catastrophic": {"rm -rf /", all},
		"3 rule": {"ls", matching("deny", `{"tool":"bash"}`)}, "4 rule": {"ls", matching("allow", `{"tool":"bash"}`)},
		"4 bashPolicy": {"ls", bash("allow", "hitl", allowing("^ls"))}, "5 safeModeOff": {"ls", trusted},
		"6 bashPolicy": {"rm x", bash("allow", "hitl", denying("^rm"))}, "7 capability": {"ls", all}, "8 capability": {"ls", ``},
		"9 unattended": {"ls", `"policy":{"unattended":true}`}, "4 environment": {"systemctl status app", onHost},
	}
	h := newJudgingServer(t)
	_, section, _ := strings.Cut(documentText(t, policyPage), "## The nine steps")
	section, _, _ = strings.Cut(section, "###")
	// The first is of what an older version stored, see approvals.TestTheNineSteps; the second of a tool that nobody can call here, see approvals.TestPins.
	elsewhere := map[string]bool{"1 brokenPolicy": true, "3 pin": true}
	seen := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d) \\| (.*) \\| (.*) \\| `(\\w+)` \\|$").FindAllStringSubmatch(section, -1) {
		key := row[1] + " " + row[4]
		with, there := examples[key]
		if seen[key] = true; !there && !elsewhere[key] {
			t.Errorf("no example is decided by %s", key)
			continue
		}
		if !there {
			continue
		}
		a := h.ask("POST", "/policy/evaluate", evaluation(with[0], with[1])).want(200)
		if got := string(domain.Encode(a.get("step"))) + " " + a.text("decidedBy"); got != key || !strings.Contains(row[3], "`"+a.text("decision")+"`") {
			t.Errorf("%s under %s is decided by %s: %s, and the page says %s: %s", with[0], with[1], got, a.text("decision"), key, row[3])
		}
	}
	for key := range maps.Keys(examples) {
		if !seen[key] {
			t.Errorf("the table has no row for %s", key)
		}
	}
}

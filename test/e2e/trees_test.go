package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// TestTrees has a coordinator, which may do nothing but delegate, and the agents below it work on two replicas.
func TestTrees(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	t.Run("eight children are decided about by key, link and as the console does", func(t *testing.T) { p.with(t).decidesAboutEight() })
	for name, tree := range map[string]struct {
		prompt     string
		executions int
	}{
		"a grandchild":                           {"hand lead: hand worker: run 9", 3},
		"an external agent":                      {"hand outsider: " + asksAPerson(), 2},
		"an external agent that does not listen": {"hand lead: hand outsider: " + asksAPerson("oncancel ignore"), 3},
	} {
		t.Run("the root is cancelled while a person is asked by "+name, func(t *testing.T) { p.with(t).cancels(tree.prompt, tree.executions) })
	}
}

// pair is two servers over one database and one workspace.
type pair struct {
	t       *testing.T
	servers [2]*server
	mark    string // in the environment of external agents
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, mark: strconv.FormatUint(rand.Uint64(), 36)}
	e, m := engine{url: postgres(t)}, newModel(t, team)
	first := newServer(t, e, m)
	second := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	p.servers = [2]*server{first, second}
	for _, s := range p.servers {
		s.section("agents", object{"scripted": object{"command": acptest.Build(t), "home": "shared", "mode": "", "setEnv": object{markName: p.mark}}})
		s.section("agentProfiles", staff)
	}
	first.start()
	second.Token = first.Token
	second.start()
	return p
}

// with is the pair in another test.
func (p *pair) with(t *testing.T) *pair {
	changed := &pair{t: t, mark: p.mark}
	for i, s := range p.servers {
		visited := *s
		visited.t, visited.client.t = t, t
		changed.servers[i] = &visited
	}
	return changed
}

// staff are the profiles. The coordinator delegates what it may not do itself.
var staff = object{
	"coordinator": object{
		"source":       object{"type": "internal"},
		"capabilities": object{"read": "deny", "write": "deny", "execute": "deny", "network": "deny", "mcp": "deny", "delegate": "allow"},
		"delegation": object{
			"profiles": []string{"lead", "worker", "outsider"},
			"ceiling":  object{"capabilities": object{"delegate": "allow", "execute": "ask", "write": "ask"}},
		},
	},
	"lead": object{
		"source":       object{"type": "internal"},
		"capabilities": object{"delegate": "allow", "execute": "ask", "write": "ask"},
		"delegation":   object{"profiles": []string{"worker", "outsider"}},
	},
	"worker":   object{"source": object{"type": "internal"}, "capabilities": object{"execute": "ask", "write": "ask", "network": "ask"}},
	"outsider": object{"source": object{"type": "acp", "command": "scripted"}, "capabilities": object{"write": "ask"}},
}

// asksAPerson is the prompt of an external agent that asks a person, and has more to do when it is answered.
func asksAPerson(first ...string) string {
	return "Please.\n" + acptest.Prompt(append(first, `ask c1 kind=edit title="Write report.md" input={"path":"report.md"}`, "silence 60000")...)
}

// team is the model of all internal agents. What one of them does stands in its prompt: it runs a command, hands the rest of the prompt to another one, or
// asks eight.
func team(a *answer, conversation []message) {
	prompt := conversation[slices.IndexFunc(conversation, func(m message) bool { return m.Role == "user" })].Content
	job, rest, _ := strings.Cut(prompt, ": ")
	verb, name, _ := strings.Cut(job, " ")
	switch verb {
	case "run":
		once("echo "+name+" >> ledger.txt; echo has run "+name)(a, conversation)
	case "hand":
		inTurn(calls("delegate", object{"profile": name, "prompt": rest, "write": true}), repeatsResults)(a, conversation)
	default:
		asksEight(a, conversation)
	}
}

const children = 8

// asksEight delegates to eight at once, after a call for more than its ceiling has.
var asksEight = inTurn(
	calls("delegate", object{"profile": "worker", "prompt": "run the network", "capabilities": object{"network": "ask"}}),
	func(a *answer, _ []message) {
		for i := range children {
			a.Want("delegate", object{"profile": "worker", "prompt": fmt.Sprint("run ", i), "write": true})
		}
	},
	repeatsResults,
)

// repeatsResults says what the calls have returned.
func repeatsResults(a *answer, conversation []message) {
	for _, m := range conversation {
		if m.Role == "tool" {
			a.Say(m.Content, "\n")
		}
	}
}

// coordinates starts a tree on the first server.
func (p *pair) coordinates(prompt string) (root string) {
	p.t.Helper()
	return created[execution](p.servers[0].client, object{"source": object{"type": "profile", "name": "coordinator"}, "prompt": prompt}).ID
}

// askedBelow waits for the questions of a tree, and reads them on the second server.
func (p *pair) askedBelow(root string, n int) (asked []approval) {
	p.t.Helper()
	s := p.servers[1]
	s.eventually(fmt.Sprintf("%d questions", n), func() bool {
		asked = nil
		for _, a := range want[list[askedBelow]](s.client, http.StatusOK, "GET", "/approvals?status=pending", nil).Items {
			if a.Root == root {
				asked = append(asked, a.approval)
			}
		}
		if e := s.get(root); len(asked) < n && domain.Status(e.Status).Terminal() {
			p.t.Fatalf("the root has ended as %s before all have asked: %+v", e.Status, e.Output)
		}
		return len(asked) >= n
	})
	return asked
}

// tree are the executions of a tree, the root first.
func (p *pair) tree(root string) []execution {
	p.t.Helper()
	return want[list[execution]](p.servers[1].client, http.StatusOK, "GET", "/executions/"+root+"/tree", nil).Items
}

// end expects that all executions of a tree end so, with sound logs.
func (p *pair) end(root string, n int, status domain.Status) {
	p.t.Helper()
	all := p.tree(root)
	if len(all) != n || all[0].ID != root {
		p.t.Errorf("the tree: %+v", all)
	}
	for _, e := range all {
		p.servers[1].finishes(e.ID, status)
	}
}

// decidesAboutEight has two people decide about each of eight children at once, in any order, differently, on two replicas and in different ways: the first
// decision wins, and the other request is a conflict.
func (p *pair) decidesAboutEight() {
	root := p.coordinates("ask eight")
	asked := p.askedBelow(root, children)
	ways := p.ways(asked)
	answers := make([]int, 2*children)
	var all sync.WaitGroup
	for _, n := range rand.Perm(len(answers)) {
		i, second := n/2, n%2
		decide, s, verb := ways[(i+second)%len(ways)], p.servers[(i/3+second)%2], [2]string{"approve", "deny"}[second]
		all.Go(func() { answers[n] = decide(s, asked[i], verb) })
	}
	all.Wait()

	approved := []string{} // the numbers of those that run
	for i, a := range asked {
		decided := want[approval](p.servers[i%2].client, http.StatusOK, "GET", "/approvals/"+a.ID, nil)
		right := [2]int{http.StatusOK, http.StatusConflict}
		if decided.Status == "denied" {
			slices.Reverse(right[:])
		} else {
			var arguments struct{ Command string }
			must(p.t, json.Unmarshal(a.Arguments, &arguments))
			approved = append(approved, strings.Fields(arguments.Command)[1])
		}
		if got := [2]int(answers[2*i : 2*i+2]); got != right {
			p.t.Errorf("it is %s, and who approved and who denied were answered %v: %s", decided.Status, got, a.Summary)
		}
	}
	p.end(root, 1+children, domain.StatusCompleted)
	p.decidedOnce(root, asked)
	p.deliveredOnce(root)
	ran := strings.Fields(p.servers[0].written())
	slices.Sort(approved)
	slices.Sort(ran)
	if diff := cmp.Diff(approved, ran); diff != "" {
		p.t.Errorf("approved (-) and ran (+):\n%s", diff)
	}
}

// ways are how people decide: with a key of their own, by a link without a key, and in the console, whose requests carry the first key and name their page.
// Each returns the status of the answer.
func (p *pair) ways(asked []approval) []func(s *server, a approval, verb string) int {
	p.t.Helper()
	first := p.servers[0]
	key := first.newKey("--name", "ann", "--scopes", "approvals:decide")
	links := map[string]string{}
	for _, a := range asked {
		links[a.ID] = want[struct{ URL string }](first.client, http.StatusCreated, "POST", "/approvals/"+a.ID+"/links", object{"for": "bob"}).URL
	}
	send := func(c client, path string, body any, header headers) int {
		response, err := c.try(p.t.Context(), "POST", path, body, header)
		if err != nil {
			p.t.Error(err)
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	decide := func(c client, a approval, verb string, header headers) int {
		return send(c, "/approvals/"+a.ID, object{"decision": verb, "argumentsHash": a.ArgumentsHash}, header)
	}
	byKey := func(s *server, a approval, verb string) int { return decide(s.with(key), a, verb, nil) }
	byConsole := func(s *server, a approval, verb string) int {
		return decide(s.client, a, verb, headers{"Origin": s.Base, "Sec-Fetch-Site": "same-origin"})
	}
	byLink := func(s *server, a approval, verb string) int {
		form := url.Values{"decision": {verb}, "argumentsHash": {a.ArgumentsHash}}
		return send(s.with(""), links[a.ID], form.Encode(), headers{"Content-Type": "application/x-www-form-urlencoded", "Origin": "null"})
	}
	return []func(s *server, a approval, verb string) int{byKey, byConsole, byLink}
}

// decidedOnce expects one decision about each approval in the audit of the tree.
func (p *pair) decidedOnce(root string, asked []approval) {
	p.t.Helper()
	type entry struct{ Record struct{ Subject string } }
	times := map[string]int{}
	for _, e := range want[list[entry]](p.servers[0].client, http.StatusOK, "GET", "/audit?action=approval.decided&limit=100&root="+root, nil).Items {
		times[e.Record.Subject]++
	}
	for _, a := range asked {
		if times[a.ID] != 1 || len(times) != len(asked) {
			p.t.Errorf("the audit has %d decisions about %s: %v", times[a.ID], a.ID, times)
		}
	}
}

// deliveredOnce expects that the root has read the result of each child once, beside the refusal of the call that asked for too much.
func (p *pair) deliveredOnce(root string) {
	p.t.Helper()
	log := p.servers[0].page(root)
	times := map[domain.ExecutionID]int{}
	for _, r := range of[domain.DelegateReturned](p.t, log) {
		times[r.ExecutionID]++
	}
	text := p.servers[0].get(root).Output.Text
	for _, e := range p.tree(root)[1:] {
		if n := strings.Count(text, "Result of worker ("+e.ID+")"); n != 1 || times[domain.ExecutionID(e.ID)] != 1 {
			p.t.Errorf("the result of %s was taken %d times and read %d times", e.ID, times[domain.ExecutionID(e.ID)], n)
		}
	}
	if refusal := "ceiling of coordinator says deny for the capability network"; !strings.Contains(text, refusal) {
		p.t.Errorf("no %q in %s", refusal, text)
	}
}

// cancels cancels a root on the server that has not created it, while somebody below it waits for a person. All end, and the question with them; an agent that
// does not listen is killed after three seconds.
func (p *pair) cancels(prompt string, executions int) {
	root := p.coordinates(prompt)
	late := p.askedBelow(root, 1)[0]
	all := p.tree(root)
	begun := time.Now()
	p.servers[1].cancelled(root, object{"reason": "Enough."})
	for _, e := range all {
		p.servers[1].ended(e.ID)
	}
	took := time.Since(begun).Round(time.Millisecond)
	p.t.Logf("all %d have ended %s after the request", len(all), took)
	p.end(root, executions, domain.StatusCancelled)
	if took > patience {
		p.t.Errorf("the tree has ended %s after the request", took)
	}
	for _, s := range p.servers {
		gone := s.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+late.ID, object{"decision": "approve", "argumentsHash": late.ArgumentsHash})
		if gone.Approval == nil || gone.Approval.Status != "cancelled" {
			p.t.Errorf("the question is %+v", gone.Approval)
		}
	}
	if left := soon(func() []harness.Proc { return harness.WithVariable(markName + "=" + p.mark) }); len(left) > 0 {
		p.t.Errorf("these processes outlive the tree: %v", left)
	}
}

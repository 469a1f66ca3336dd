package sessions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/budgets"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// task is what an agent of these tests is asked to do, step by step. Its prompt is its JSON.
type task []step

// step is one step of a task; one field is set.
type step struct {
	Say      string `json:"say,omitempty"`
	Bash     string `json:"bash,omitempty"`
	Delegate task   `json:"delegate,omitempty"`
	Abroad   bool   `json:"abroad,omitempty"` // delegate to an external agent, which asks a person
	Start    task   `json:"start,omitempty"`  // delegate, and do not wait
	Each     []task `json:"each,omitempty"`   // delegate all of them at once, and wait
	Await    bool   `json:"await,omitempty"`
	Message  task   `json:"message,omitempty"` // to the first child
	Cancel   bool   `json:"cancel,omitempty"`  // the first child
	Fail     bool   `json:"fail,omitempty"`
	Ask      int    `json:"ask,omitempty"` // so many requests to the model, each of which reserves 10 tokens and uses 40
}

func (t task) prompt() string { return string(domain.Encode(t)) }

// company plays tasks. Like the internal agent, it goes on after a restart where the log ends.
type company struct {
	mu  sync.Mutex
	ran map[string]int // how often each command ran
}

func (co *company) script(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
	var todo task
	text := t.Prompt.Text
	if err := json.Unmarshal([]byte(text), &todo); err != nil {
		return domain.StopEndTurn, t.Say(fmt.Sprint("results-", t.Prompt.Turn), "told: "+text)
	}
	said := []string{}
	for i, s := range todo {
		outputs, err := co.do(ctx, t, fmt.Sprintf("t%d-s%d", t.Prompt.Turn, i), s, said)
		if err != nil {
			return "", err
		}
		said = append(said, outputs...)
	}
	return domain.StopEndTurn, t.Say(fmt.Sprintf("t%d-end", t.Prompt.Turn), strings.Join(said, "\n"))
}

func (co *company) do(ctx context.Context, t *sessionstest.Turn, id string, s step, said []string) ([]string, error) {
	switch {
	case s.Fail:
		return nil, domain.Errorf(domain.CodeModelFailed, "it cannot be done")
	case s.Ask > 0:
		return nil, ask(ctx, t, s.Ask)
	case s.Bash != "":
		return co.bash(t, id, s.Bash)
	case s.Each != nil:
		return co.each(t, id, s.Each)
	case s.Delegate != nil:
		return co.call(t, id, domain.DelegateTool, domain.DelegateArguments{Profile: "worker", Prompt: s.Delegate.prompt()})
	case s.Abroad:
		source := domain.Source{Type: domain.SourceACP, Command: "external"}
		return co.call(t, id, domain.DelegateTool, domain.DelegateArguments{Source: &source, Prompt: "Ask somebody."})
	case s.Start != nil:
		no := false
		return co.call(t, id, domain.DelegateTool, domain.DelegateArguments{Profile: "worker", Prompt: s.Start.prompt(), Wait: &no})
	case s.Await:
		return co.call(t, id, domain.AwaitDelegatesTool, domain.AwaitDelegatesArguments{})
	case s.Message != nil:
		return co.call(t, id, domain.MessageDelegateTool, domain.MessageDelegateArguments{ID: firstChild(said), Prompt: s.Message.prompt()})
	case s.Cancel:
		return co.call(t, id, domain.CancelDelegateTool, domain.CancelDelegateArguments{ID: firstChild(said), Reason: "enough"})
	default:
		return []string{s.Say}, nil
	}
}

func ask(ctx context.Context, t *sessionstest.Turn, requests int) error {
	for i := range int64(requests) {
		if err := asksOnce(ctx, t, tokens(30*(i+1), 10*(i+1))); err != nil {
			return err
		}
	}
	return nil
}

// firstChild is the child that the results so far name first.
func firstChild(said []string) domain.ExecutionID {
	return domain.ExecutionID(anID.FindString(strings.Join(said, " ")))
}

var anID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// stands is what the history has of a call: its result, or that it was announced.
func stands(t *sessionstest.Turn, id string) (result string, done, announced bool) {
	for _, m := range t.Prompt.History {
		if m.ToolCallID == id {
			return m.Text, true, true
		}
		announced = announced || slices.ContainsFunc(m.ToolCalls, func(c domain.ToolCall) bool { return c.ID == id })
	}
	return "", false, announced
}

func (co *company) call(t *sessionstest.Turn, id, tool string, arguments any) ([]string, error) {
	result, done, announced := stands(t, id)
	if done {
		return []string{result}, nil
	}
	call := sessionstest.Delegation(id, tool, arguments)
	output, err := t.Delegate("m-"+id, call, announced)
	return []string{output}, err
}

func (co *company) each(t *sessionstest.Turn, id string, tasks []task) ([]string, error) {
	type outcome struct {
		outputs []string
		err     error
	}
	outcomes := make([]outcome, len(tasks))
	for i := range tasks { // all are announced in one answer of the model
		one := fmt.Sprintf("%s-%d", id, i)
		if _, _, announced := stands(t, one); !announced {
			call := sessionstest.Delegation(one, domain.DelegateTool, domain.DelegateArguments{Profile: "worker", Prompt: tasks[i].prompt()})
			if err := t.Want("m-"+id, call); err != nil {
				return nil, err
			}
		}
	}
	var all sync.WaitGroup
	for i, each := range tasks {
		all.Go(func() {
			one := fmt.Sprintf("%s-%d", id, i)
			if result, done, _ := stands(t, one); done {
				outcomes[i].outputs = []string{result}
				return
			}
			call := sessionstest.Delegation(one, domain.DelegateTool, domain.DelegateArguments{Profile: "worker", Prompt: each.prompt()})
			output, err := t.Delegate("m-"+id, call, true)
			outcomes[i] = outcome{[]string{output}, err}
		})
	}
	all.Wait()
	var outputs []string
	for _, o := range outcomes {
		if o.err != nil {
			return nil, o.err
		}
		outputs = append(outputs, o.outputs...)
	}
	return outputs, nil
}

func (co *company) bash(t *sessionstest.Turn, id, command string) ([]string, error) {
	result, done, announced := stands(t, id)
	if done {
		return []string{result}, nil
	}
	call := sessionstest.Bash(id, command)
	if !announced {
		if err := t.Want("m-"+id, call); err != nil {
			return nil, err
		}
	}
	output := "refused"
	_, err := t.Use(call, func(json.RawMessage) string {
		co.mu.Lock()
		defer co.mu.Unlock()
		co.ran[command]++
		output = "ran " + command
		return output
	})
	return []string{output}, err
}

// admits makes the requests of children as admission does, and refuses the profile nobody.
type admits struct{}

func (admits) Child(_ context.Context, parent domain.Execution, call string, wanted domain.DelegateArguments, _ []domain.ContextMessage) (domain.Request, error) {
	if wanted.Profile == "nobody" {
		return domain.Request{}, domain.Errorf(domain.CodePolicyDenied, "There is no such profile.")
	}
	child := request()
	child.Prompt, child.KeepOpen, child.Parent = wanted.Prompt, true, parent.ParentOf(call, wanted.Profile, wanted.Write)
	child.RunbookID, child.Runbook = parent.Request.RunbookID, parent.Request.Runbook
	if wanted.Source != nil {
		child.Source = *wanted.Source
		return child, nil
	}
	delegating(&child)
	return child, nil
}

func delegating(r *domain.Request) {
	r.Capabilities.Delegate, r.Requires = domain.Allow, domain.RequiresDelegation
	r.Delegation = &domain.Delegation{Ceiling: domain.Ceiling{Capabilities: r.Capabilities}}
}

func newCompany(t testing.TB, s *store.Store, change ...func(*dispatch.Config)) (*company, *world) {
	t.Helper()
	co := &company{ran: map[string]int{}}
	return co, co.opens(t, s, change...)
}

// opens opens a further server over the same store.
func (co *company) opens(t testing.TB, s *store.Store, change ...func(*dispatch.Config)) *world {
	return newWorld(t, s, co.script, append(change, func(c *dispatch.Config) { c.Delegates = admits{} })...)
}

func (w *world) delegates(todo task, change ...func(*domain.Request)) domain.ExecutionID {
	w.t.Helper()
	all := []func(*domain.Request){func(r *domain.Request) { r.Prompt = todo.prompt() }, delegating}
	return w.start(append(all, change...)...)
}

// tree are the executions of a tree, the root first.
func (w *world) tree(root domain.ExecutionID) []domain.Execution {
	w.t.Helper()
	all, err := w.store.Tree(context.Background(), tenant, root)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// whole holds a tree that has ended against what must be true of every tree.
func (w *world) whole(root domain.ExecutionID) {
	w.t.Helper()
	for _, execution := range w.tree(root) {
		if !execution.Status.Terminal() {
			w.ended(execution.ID)
		}
	}
	all := w.tree(root)
	created := map[domain.ExecutionID]domain.Execution{}
	for _, execution := range all[1:] {
		created[execution.ID] = execution
	}
	started, calls := map[domain.ExecutionID]int{}, map[string]bool{}
	for _, execution := range all {
		log := w.events(execution.ID)
		rests := map[string]bool{}
		for _, s := range payloads[domain.DelegateStarted](w.t, log) {
			started[s.ExecutionID]++
			call := string(execution.ID) + " " + s.ToolCallID
			if calls[call] {
				w.t.Errorf("call %s has two children", call)
			}
			calls[call] = true
			if parent := created[s.ExecutionID].Request.Parent; parent == nil || parent.Execution != execution.ID || parent.ToolCallID != s.ToolCallID {
				w.t.Errorf("child %s of %s stands as %+v", s.ExecutionID, call, parent)
			}
		}
		for _, r := range payloads[domain.DelegateReturned](w.t, log) {
			rest := fmt.Sprint(r.ExecutionID, r.Rest)
			if rests[rest] {
				w.t.Errorf("result %d of %s was taken twice", r.Rest, r.ExecutionID)
			}
			rests[rest] = true
		}
	}
	for id := range created {
		if started[id] != 1 {
			w.t.Errorf("child %s was started %d times", id, started[id])
		}
	}
}

func speaks(text string) task { return task{{Say: text}} }

func TestAParentWaitsForItsChild(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s)
		root := w.delegates(task{{Say: "so"}, {Delegate: task{{Delegate: speaks("42")}}}})
		end := w.ended(root)
		if end.Status != domain.StatusCompleted || !strings.Contains(end.Output.Text, "42") || !strings.Contains(end.Output.Text, "never as an instruction") {
			t.Errorf("%s: %q", end.Status, end.Output.Text)
		}
		w.whole(root)
		if n := len(w.tree(root)); n != 3 {
			t.Errorf("%d executions in the tree", n)
		}
		for _, execution := range w.tree(root)[1:] {
			if execution.Status != domain.StatusCompleted {
				t.Errorf("a child that rests ends as %s with its root", execution.Status)
			}
		}
		started := payloads[domain.ToolCallStarted](t, w.events(root))
		if len(started) != 1 || started[0].Awaits != domain.AwaitsDelegate || len(started[0].Children) != 1 {
			t.Errorf("started: %+v", started)
		}
		if updates := payloads[domain.DelegateUpdated](t, w.events(root)); len(updates) < 2 || updates[0].Status != domain.StatusWaiting {
			t.Errorf("updates: %+v", updates)
		}
	})
}

func TestResultsOpenAFurtherTurn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s)
		root := w.delegates(task{{Start: speaks("one")}, {Start: task{{Bash: "two"}}}}, func(r *domain.Request) { r.IdleTimeoutSeconds = 1 })
		w.becomes(root, domain.StatusIdle, 1)
		w.decide(w.approvals(w.tree(root)[2].ID, 1)[0])
		end := w.ended(root)
		turns := payloads[domain.TurnStarted](t, w.events(root))
		if end.Status != domain.StatusCompleted || len(turns) != 2 || len(turns[1].Delegates) != 2 {
			t.Errorf("%s after %+v", end.Status, turns)
		}
		if text := end.Output.Text; !strings.Contains(text, "one") || !strings.Contains(text, "ran two") {
			t.Errorf("the results have not come: %q", text)
		}
		w.whole(root)
	})
}

func TestChildrenAreCancelledWithTheTurnWhereTheRequestSaysSo(t *testing.T) {
	_, w := newCompany(t, storetest.SQLite(t))
	root := w.delegates(task{{Start: task{{Bash: "for ever"}}}}, func(r *domain.Request) { r.Delegation.CancelOnEnd = true })
	if end := w.ended(root); end.Status != domain.StatusCompleted {
		t.Errorf("%s", end.Status)
	}
	child := w.tree(root)[1].ID
	if end := w.ended(child); end.Status != domain.StatusCancelled {
		t.Errorf("the child ends as %s", end.Status)
	}
	w.whole(root)
}

// TestPlacesAreGivenBackToChildren: ten executions end with two places, although nobody is parked for lack of something to do.
func TestPlacesAreGivenBackToChildren(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s, func(c *dispatch.Config) { c.Limits.Live = 2 })
		two := task{{Each: []task{speaks("a"), speaks("b")}}}
		root := w.delegates(task{{Each: []task{two, two, two}}})
		if end := w.ended(root); end.Status != domain.StatusCompleted || strings.Count(end.Output.Text, "Result of worker") != 3+6 {
			t.Errorf("%s: %q", end.Status, end.Output.Text)
		}
		if n := len(w.tree(root)); n != 10 {
			t.Errorf("%d executions", n)
		}
		w.whole(root)
	})
}

// TestApprovalsOfChildren: each reaches the logs of parent and root with its path, and any order of decisions does.
func TestApprovalsOfChildren(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		co, w := newCompany(t, s)
		var tasks []task
		for i := range 8 {
			tasks = append(tasks, task{{Bash: fmt.Sprint("command ", i)}})
		}
		root := w.delegates(task{{Delegate: task{{Each: tasks}}}})
		w.askedBelow(root, 8)
		var waiting []domain.Approval
		for _, execution := range w.tree(root) {
			rows, err := s.ApprovalsOf(context.Background(), execution.ID)
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, rows...)
		}
		rand.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		for _, approval := range waiting {
			for _, told := range payloads[domain.ApprovalRequested](t, w.events(approval.Execution)) {
				if told.Root != root || len(told.Path) != 3 || told.Path[2].Execution != approval.Execution {
					t.Errorf("the event has the root %q and the path %+v", told.Root, told.Path)
				}
			}
			w.decide(approval)
		}
		if end := w.ended(root); end.Status != domain.StatusCompleted {
			t.Errorf("%s", end.Status)
		}
		w.whole(root)
		if len(co.ran) != 8 {
			t.Errorf("ran: %v", co.ran)
		}
		for _, log := range [][]domain.Event{w.events(root), w.events(w.tree(root)[1].ID)} {
			asked, answered := payloads[domain.DelegateApprovalRequested](t, log), payloads[domain.DelegateApprovalResolved](t, log)
			if len(asked) != 8 || len(answered) != 8 {
				t.Errorf("%d asked, %d answered", len(asked), len(answered))
			}
			for _, a := range asked {
				if len(a.Path) != 3 || a.Path[0].Execution != root || a.Path[2].Execution != a.ExecutionID || !strings.Contains(a.Path[2].Asked, "command") {
					t.Errorf("path: %+v", a.Path)
				}
			}
		}
	})
}

// TestARuleOfATree answers the other children who ask the same, later ones as well, and nobody outside of the tree.
func TestARuleOfATree(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		co, w := newCompany(t, s)
		same := task{{Bash: "git log -1"}}
		root, other := w.delegates(task{{Each: []task{same, same, same}}, {Delegate: same}}), w.delegates(task{{Delegate: same}})
		w.askedBelow(root, 3)
		w.askedBelow(other, 1)
		w.decide(w.approvals(w.tree(root)[2].ID, 1)[0], remember(domain.RememberTree, "command"))
		if end := w.ended(root); end.Status != domain.StatusCompleted {
			t.Errorf("%s", end.Status)
		}
		if co.ran["git log -1"] != 4 {
			t.Errorf("ran: %v", co.ran)
		}
		if asked := payloads[domain.DelegateApprovalRequested](t, w.events(root)); len(asked) != 3 {
			t.Errorf("asked %d times", len(asked))
		}
		stranger := w.approvals(w.tree(other)[1].ID, 1)[0]
		if stranger.Status != domain.ApprovalPending {
			t.Errorf("in another tree it is %s", stranger.Status)
		}
		w.decide(stranger)
		w.ended(other)
	})
}

// askedBelow waits until so many approvals below an execution were asked for.
func (w *world) askedBelow(root domain.ExecutionID, n int) {
	w.t.Helper()
	w.follow(root, func(f events.Frame) bool {
		if f.Type == domain.DelegateAskedType {
			n--
		}
		return n == 0
	})
	if n > 0 {
		w.t.Fatalf("%d approvals were never asked for: %v", n, types(w.events(root)))
	}
}

// TestCancelReachesTheWholeTree while a grandchild waits for a person, and waits for no time-out on the way.
func TestCancelReachesTheWholeTree(t *testing.T) {
	for name, todo := range map[string]task{
		"internal agents":                 {{Delegate: task{{Delegate: task{{Bash: "ls"}}}}}},
		"an external agent at its bottom": {{Delegate: task{{Abroad: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) { cancelsTree(t, s, todo) })
		})
		t.Run(name+", where time passes only for those who wait", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if took := cancelsTree(t, storetest.SQLite(t), todo); took >= time.Second {
					t.Errorf("somebody has waited for %s", took)
				}
			})
		})
	}
}

// cancelsTree cancels a tree whose grandchild has asked a person, and returns how long it took to end all three. The question has ended with them.
func cancelsTree(t *testing.T, s *store.Store, todo task) (took time.Duration) {
	t.Helper()
	external := &sessionstest.External{Script: asking, Opened: make(chan domain.Opening, 1)}
	_, w := newCompany(t, s, externally(external))
	root := w.delegates(todo)
	w.askedBelow(root, 1)
	tree := w.tree(root)
	late := w.approvals(tree[2].ID, 1)[0]
	begun := time.Now()
	if _, err := w.manager.Cancel(context.Background(), tenant, root, "stop", alice); err != nil {
		t.Fatal(err)
	}
	for _, execution := range tree {
		if end := w.ended(execution.ID); end.Status != domain.StatusCancelled {
			t.Errorf("%s is %s", execution.ID, end.Status)
		}
	}
	took = time.Since(begun)
	answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: late.ArgumentsHash, By: alice}
	if _, err := w.service.Decide(context.Background(), tenant, late.ID, answer); domain.CodeOf(err) != domain.CodeApprovalCancelled {
		t.Errorf("a decision that comes late: %v", err)
	}
	w.whole(root)
	return took
}

func TestAFailureOfAChildIsAResult(t *testing.T) {
	_, w := newCompany(t, storetest.SQLite(t))
	root := w.delegates(task{{Delegate: task{{Fail: true}}}, {Say: "all the same"}})
	end := w.ended(root)
	if end.Status != domain.StatusCompleted || !strings.Contains(end.Output.Text, "it cannot be done") || !strings.Contains(end.Output.Text, "all the same") {
		t.Errorf("%s: %q", end.Status, end.Output.Text)
	}
	if outcome := end.Output.ToolCallsExecuted[0].Outcome; outcome != domain.OutcomeFailed {
		t.Errorf("the call is %s", outcome)
	}
	w.whole(root)
}

// TestATreeSharesTheBudgetOfItsRoot: eight children race for it. All of it is used, and each goes beyond it by one request at most. Nothing
// is left for the root.
func TestATreeSharesTheBudgetOfItsRoot(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s, func(c *dispatch.Config) { c.Ledger = budgets.NewLedger(s, c.Replica, nil) })
		const children, limit = 8, 1000
		var all []task
		for range children {
			all = append(all, task{{Ask: limit}})
		}
		root := w.delegates(task{{Ask: 1}, {Each: all}, {Ask: 1}}, func(r *domain.Request) { r.Budget.Tokens = limit })
		w.ended(root)
		w.whole(root)
		var used int64
		for _, child := range w.tree(root) {
			if child.Status != domain.StatusFailed || child.Output.FinishReason != domain.FinishBudget || child.Output.Error.Code != domain.CodeLimitReached {
				t.Errorf("%s: %+v", child.Status, child.Output)
			}
			if tokens := child.Usage.Tokens(); tokens != nil {
				used += *tokens
			}
		}
		if used < limit || used > limit+children*40 {
			t.Errorf("%d tokens of %d were used", used, limit)
		}
	})
}

// TestTreesSurviveKills: whenever the server is killed, each call has one child, each result is delivered once, and all end.
func TestTreesSurviveKills(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		random := rand.New(rand.NewPCG(seed, 7))
		co, w := newCompany(t, s)
		var roots []domain.ExecutionID
		for i := range 6 {
			leaf := func(n int) task { return task{{Bash: fmt.Sprintf("%d-%d", i, n)}, {Say: "leaf"}} }
			middle := func(n int) task {
				return task{{Start: leaf(3 * n)}, {Each: []task{leaf(3*n + 1), speaks("b")}}, {Await: true}, {Start: leaf(3*n + 2)}}
			}
			roots = append(roots, w.delegates(task{{Start: middle(0)}, {Delegate: middle(1)}}))
		}
		for range 8 { // with more than ten, an execution without progress between them would be interrupted
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
			w.approveSome(random)
			w.killed()
			w = co.opens(t, s)
		}
		for deadline := time.Now().Add(w.patience); !w.allEnded(roots); time.Sleep(20 * time.Millisecond) {
			w.approveSome(random)
			if time.Now().After(deadline) {
				w.standing(roots)
				t.FailNow()
			}
		}
		for _, root := range roots {
			if end := w.execution(root); end.Status != domain.StatusCompleted {
				t.Errorf("%s: %+v", end.Status, end.Output.Error)
			}
			if n := len(w.tree(root)); n != 11 {
				t.Errorf("%d executions in a tree", n)
			}
			w.whole(root)
		}
	})
}

func (w *world) allEnded(ids []domain.ExecutionID) bool {
	w.t.Helper()
	return !slices.ContainsFunc(ids, func(id domain.ExecutionID) bool { return !w.execution(id).Status.Terminal() })
}

// standing says how it stands with trees that do not end.
func (w *world) standing(roots []domain.ExecutionID) {
	w.t.Helper()
	for _, root := range roots {
		for _, e := range w.tree(root) {
			head, err := w.store.Head(context.Background(), e.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			if !w.execution(root).Status.Terminal() {
				children, _ := w.store.Children(context.Background(), e.ID)
				w.t.Errorf("%s is %s in turn %d, driven by %q; children %+v; its log is %v", e.ID, e.Status, e.Turn, head.Owner, children, types(w.events(e.ID)))
			}
		}
	}
}

// approveSome decides some of the approvals that wait. A command whose outcome is unknown is taken as done.
func (w *world) approveSome(random *rand.Rand) {
	w.t.Helper()
	page, err := w.store.Approvals(context.Background(), tenant, store.ApprovalFilter{Status: []domain.ApprovalStatus{domain.ApprovalPending}, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range page.Items {
		if random.IntN(2) == 0 {
			continue
		}
		answer := approvals.Answer{Verb: domain.Approve, ArgumentsHash: a.ArgumentsHash, By: alice}
		if a.Kind == domain.ApprovalUnknownOutcome {
			answer.Resolution = domain.ResolutionSucceeded
		}
		_, _ = w.service.Decide(context.Background(), tenant, a.ID, answer) // its execution may have been cut off
	}
}

func TestAMessageContinuesAChild(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s)
		root := w.delegates(task{{Delegate: speaks("first")}, {Message: speaks("second")}, {Message: speaks("third")}, {Cancel: true}, {Message: speaks("late")}})
		end := w.ended(root)
		for _, want := range []string{"first", "second", "third", "is cancelled, and has no new result", "has ended"} {
			if !strings.Contains(end.Output.Text, want) {
				t.Errorf("no %q in %q", want, end.Output.Text)
			}
		}
		w.whole(root)
		tree := w.tree(root)
		if turns := payloads[domain.TurnStarted](t, w.events(tree[1].ID)); len(tree) != 2 || len(turns) != 3 {
			t.Errorf("%d executions, %d turns of the child", len(tree), len(turns))
		}
	})
}

// TestAResultIsReadBeforeTheNextMessage: otherwise the next result would take its place.
func TestAResultIsReadBeforeTheNextMessage(t *testing.T) {
	_, w := newCompany(t, storetest.SQLite(t))
	root := w.delegates(task{{Start: speaks("first")}, {Bash: "wait"}, {Message: speaks("second")}, {Await: true}, {Message: speaks("third")}})
	approval := w.approvals(root, 1)[0]
	w.becomes(w.tree(root)[1].ID, domain.StatusIdle, 1)
	w.decide(approval)
	end := w.ended(root)
	if text := end.Output.Text; !strings.Contains(text, "that you have not read") || strings.Contains(text, "second") || !strings.Contains(text, "first") || !strings.Contains(text, "third") {
		t.Errorf("%q", text)
	}
	w.whole(root)
}

// TestNoAnswerOfAChildIsLost: a person sends a child a prompt while its parent waits for it, and another one before its parent has read what it said. The
// parent reads both answers, each once.
func TestNoAnswerOfAChildIsLost(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		_, w := newCompany(t, s)
		waits := w.delegates(task{{Delegate: task{{Bash: "wait"}, {Say: "the first"}}}})
		w.askedBelow(waits, 1)
		child := w.tree(waits)[1].ID
		w.say(child, speaks("the second").prompt(), domain.WhenBusyEnqueue)
		w.decide(w.approvals(child, 1)[0])

		later := w.delegates(task{{Start: speaks("the first")}, {Bash: "wait"}, {Await: true}})
		approval := w.approvals(later, 1)[0]
		child = w.tree(later)[1].ID
		w.becomes(child, domain.StatusIdle, 1)
		w.say(child, speaks("the second").prompt(), domain.WhenBusyEnqueue)
		w.becomes(child, domain.StatusIdle, 2)
		w.decide(approval)

		for _, root := range []domain.ExecutionID{waits, later} {
			text := w.ended(root).Output.Text
			if first, second := strings.Index(text, "the first"), strings.Index(text, "the second"); first < 0 || second < first ||
				strings.Count(text, "the first") != 1 || strings.Count(text, "the second") != 1 {
				t.Errorf("the parent has read %q", text)
			}
			if returned := payloads[domain.DelegateReturned](t, w.events(root)); len(returned) != 1 {
				t.Errorf("%+v", returned)
			}
			w.whole(root)
		}
	})
}

func TestACallThatCannotDelegateAsksNobody(t *testing.T) {
	_, w := newCompany(t, storetest.SQLite(t))
	root := w.delegates(task{{Cancel: true}, {Delegate: task{{Delegate: task{{Delegate: speaks("too deep")}}}}}}, func(r *domain.Request) { r.Capabilities.Delegate = domain.Ask })
	w.decide(w.approvals(root, 1)[0])
	end := w.ended(root)
	if text := end.Output.Text; !strings.Contains(text, "You have not delegated anything") || !strings.Contains(text, "at depth 2 may not delegate") {
		t.Errorf("%q", text)
	}
	if n := len(payloads[domain.ApprovalRequested](t, w.events(root))); n != 1 {
		t.Errorf("%d questions", n)
	}
	w.whole(root)
}

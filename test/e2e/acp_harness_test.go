package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// house is a server with scripted agents in its registry. The tests of a house visit it, each in a folder of its own
// and with a t of its own, so that they can run side by side; what a visit has started is held against the invariants
// when it is over.
type house struct {
	*server
	mark   string // in the environment of all agents of the house
	agents map[string]object

	mu     sync.Mutex
	visits []*visit
}

// markName is the variable of the mark. SIGNOFF_* would be refused: the registry keeps those from agents.
const markName = "TEST_MARK"

// newHouse prepares a server with these agents; what an entry leaves out of command, home and environment is filled in.
//
//	h := newHouse(t, e, map[string]object{"scripted": {}, "forgetful": {"args": []string{"-no-load"}}})
//	h.start()
func newHouse(t *testing.T, e engine, agents map[string]object, env ...string) *house {
	t.Helper()
	h := &house{server: newServer(t, e, newModel(t, quiet), append(env, "SIGNOFF_LOG_LEVEL=warn")...),
		mark: strconv.FormatUint(rand.Uint64(), 36), agents: agents}
	h.configure()
	t.Cleanup(h.empty) // before the server of newServer is stopped
	return h
}

// house that is up.
func openHouse(t *testing.T, e engine, agents map[string]object, env ...string) *house {
	t.Helper()
	h := newHouse(t, e, agents, env...)
	h.start()
	return h
}

// configure adds the agents, and mcpServers where there is an entry of that name, to the configuration. JSON is YAML.
func (h *house) configure() {
	h.t.Helper()
	section := map[string]object{}
	for name, entry := range h.agents {
		filled := object{"command": acptest.Build(h.t), "home": "shared"}
		maps.Copy(filled, entry)
		environment := map[string]string{markName: h.mark}
		if more, said := entry["setEnv"].(map[string]string); said {
			maps.Copy(environment, more)
		}
		filled["setEnv"] = environment
		section[name] = filled
	}
	h.section("agents", section)
}

// patience is how long something may outlive its execution. The server kills after a few seconds what does not go by
// itself; what it forgets stays for minutes, which is how the two are told apart on a machine that is busy.
const patience = 30 * time.Second

// empty expects that no process of an agent is left, wherever it went, and below the server nothing at all: no
// supervisor, no sandbox.
func (h *house) empty() {
	if left := soon(func() []harness.Proc { return append(h.marked(), h.below()...) }); len(left) > 0 {
		h.t.Errorf("these processes outlive their executions: %v", left)
	}
}

// below lists the processes that descend from the server.
func (s *server) below() []harness.Proc {
	if !s.running() {
		return nil
	}
	return harness.Below(s.process.PID())
}

// alive are those of a list that are still there. A number that has become somebody else's has another command.
func alive(listed []harness.Proc) (found []harness.Proc) {
	for _, was := range listed {
		if is, there := harness.ProcessOf(was.PID); there && !is.Dead() && is.Command == was.Command {
			found = append(found, is)
		}
	}
	return found
}

// soon asks until nothing is found, and returns what is still found after the patience.
func soon[T any](find func() []T) (found []T) {
	pause := 10 * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		pause = min(pause*3/2, 400*time.Millisecond) // a look reads of every process of the machine
		if found = find(); len(found) == 0 || time.Now().After(deadline) {
			return found
		}
	}
}

// marked lists the processes that carry the mark of the house in their environment.
func (h *house) marked() []harness.Proc { return harness.WithVariable(markName + "=" + h.mark) }

// visit is one test's use of a house.
type visit struct {
	client
	house  *house
	agent  string // that its executions use
	folder string // in which they work, below the workspace
	all    []*followed
}

// visit begins a visit with an agent of the house. It ends with the test.
func (h *house) visit(t *testing.T, agent string) *visit {
	t.Helper()
	v := h.enter(t, agent)
	t.Cleanup(v.leave)
	return v
}

// enter begins a visit that somebody has to leave.
func (h *house) enter(t *testing.T, agent string) *visit {
	t.Helper()
	v := &visit{client: h.client, house: h, agent: agent}
	v.t = t
	h.mu.Lock()
	h.visits = append(h.visits, v)
	v.folder = filepath.Join(h.workspace, fmt.Sprintf("%s-%d", agent, len(h.visits)))
	h.mu.Unlock()
	must(t, os.Mkdir(v.folder, 0o755))
	return v
}

// restart ends the server with stop or kill and starts it again. The visitors' clients come back, to the new address,
// each with the last id that it has seen. Nobody else may use the house meanwhile.
func (h *house) restart(end func()) {
	h.t.Helper()
	before := h.below()
	end()
	if left := soon(func() []harness.Proc { return append(h.marked(), alive(before)...) }); len(left) > 0 {
		h.t.Errorf("these processes outlive the server: %v", left)
	}
	for _, v := range h.visits {
		for _, f := range v.all {
			f.stop()
			<-f.done
		}
	}
	h.start()
	for _, v := range h.visits {
		v.Base = h.Base
		for _, f := range v.all {
			f.follow(v.client)
		}
	}
}

// start creates an execution whose first prompt has these steps.
func (v *visit) start(steps ...string) (id string) {
	v.t.Helper()
	return v.startAs(object{}, steps...)
}

// startAs is start with other fields of the request.
func (v *visit) startAs(change object, steps ...string) (id string) {
	v.t.Helper()
	return v.create(v.request(change, steps...))
}

// create creates an execution with this body.
func (v *visit) create(body object) (id string) {
	v.t.Helper()
	id = created[execution](v.client, body).ID
	v.keep(id)
	return id
}

// request is the body of such a creation. Its turns have more time than by default: those that last until a restart wait for others that begin.
func (v *visit) request(change object, steps ...string) object {
	body := object{
		"source": object{"type": "acp", "command": v.agent}, "prompt": "Please.\n" + acptest.Prompt(steps...),
		"workingDirectory": v.folder, "timeoutSeconds": 3600,
	}
	maps.Copy(body, change)
	return body
}

// prompt sends a further prompt and returns its id.
func (v *visit) prompt(id string, steps ...string) string {
	v.t.Helper()
	return v.promptAs(id, object{}, steps...)
}

// further is the text of a prompt behind the first.
func further(steps ...string) string { return "Further.\n" + acptest.Prompt(steps...) }

func (v *visit) promptAs(id string, change object, steps ...string) string {
	v.t.Helper()
	body := object{"prompt": further(steps...)}
	maps.Copy(body, change)
	return want[struct{ ID string }](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", body).ID
}

// complete runs an execution with these steps to its end, and expects that it is completed.
func (v *visit) complete(steps ...string) (execution, []wireEvent) {
	v.t.Helper()
	id := v.start(steps...)
	end := v.ended(id)
	if end.Status != "completed" {
		v.t.Errorf("ended as %s: %+v", end.Status, end.Output)
	}
	return end, v.page(id)
}

// keep has an execution checked when the visit is over.
func (v *visit) keep(id string) {
	v.t.Helper()
	f := &followed{id: id}
	f.follow(v.client)
	v.all = append(v.all, f)
}

// followed is an execution with a client that follows it from its first event on, over connections that break.
type followed struct {
	id   string
	stop context.CancelFunc
	done chan struct{}
	seen []wireEvent // complete when done is closed
	err  error
}

// follow begins to follow, or goes on where it was.
func (f *followed) follow(c client) {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.done, f.err = stop, make(chan struct{}), nil
	go func() {
		defer close(f.done)
		for over := false; !over && f.err == nil && ctx.Err() == nil; {
			over, f.err = f.piece(ctx, c)
		}
	}()
}

// piece follows over one connection, which breaks after some events.
func (f *followed) piece(ctx context.Context, c client) (over bool, err error) {
	after, left := int64(0), 1+rand.IntN(40)
	if len(f.seen) > 0 {
		after = f.seen[len(f.seen)-1].Seq
	}
	return c.follow(ctx, f.id, after, func(event wireEvent) bool {
		f.seen = append(f.seen, event)
		left--
		return left > 0
	})
}

// leave ends the executions of the visit that are still there, and holds all of them against the invariants.
func (v *visit) leave() {
	v.end(v.ids()...)
	ended := time.Now()
	for _, f := range v.all {
		v.sound(f)
	}
	left := soon(v.left)
	if len(left) > 0 {
		v.t.Errorf("%s after the last execution's end there are still: %v", time.Since(ended).Round(time.Millisecond), left)
	}
}

// left lists the processes that work in the visit's folder, and those that the sandbox keeps for it. The rest of the
// supervisors is nobody's in particular, and counted when the house is empty.
func (v *visit) left() (found []harness.Proc) {
	for _, p := range v.house.below() {
		if strings.Contains(p.Command, v.folder+`"`) {
			found = append(found, p)
		}
	}
	return append(found, harness.WorkingIn(v.folder)...)
}

// end closes the executions that are idle and cancels those that work or wait: all of them before it waits for the first.
func (v *visit) end(ids ...string) {
	for _, id := range ids {
		e := v.get(id)
		if domain.Status(e.Status).Terminal() {
			continue
		}
		verb := "cancel"
		if e.Status == string(domain.StatusIdle) {
			verb = "close"
		}
		if response, content := v.do("POST", "/executions/"+id+"/"+verb, nil); response.StatusCode >= 300 {
			v.t.Errorf("%s: %s: %s", verb, response.Status, content)
		}
	}
	for _, id := range ids {
		v.ended(id)
	}
}

// ids are those of all executions of the visit.
func (v *visit) ids() (all []string) {
	for _, f := range v.all {
		all = append(all, f.id)
	}
	return all
}

// gate is a file that the agent's step "await gate" waits for: so it goes on when the test wants it, however slow the machine is.
const gate = "gate"

// sound holds an execution that has ended against the invariants: one numbered log with one end in which each call has
// one outcome, and the same for a client that was there all the time over connections that broke.
func (v *visit) sound(f *followed) {
	log := v.house.soundFor(v.t, f.id)
	if len(log) == 0 || !domain.EventType(log[len(log)-1].Type).Terminal() {
		v.t.Errorf("the log of %s does not end with a terminal event", f.id)
	}
	select {
	case <-f.done:
	case <-time.After(patience):
		f.stop()
		<-f.done
		v.t.Errorf("the stream of %s does not end with the execution", f.id)
	}
	switch {
	case f.err != nil:
		v.t.Errorf("following %s: %v", f.id, f.err)
	case !equal(f.seen, log):
		v.t.Errorf("a client that was there all the time over connections that broke has seen %d events, the log has %d",
			len(f.seen), len(log))
	}
}

// soundFor is sound with the t of a visit.
func (h *house) soundFor(t *testing.T, id string) []wireEvent {
	t.Helper()
	s := &server{t: t, client: h.client}
	s.client.t = t
	return s.sound(id)
}

// keptOpen has an execution wait for further prompts.
var keptOpen = object{"keepOpen": true}

const (
	askLs   = `ask c1 kind=execute title="Run ls" input={"command":"ls"}`
	forever = `silence 600000` // longer than any test
)

func (v *visit) path(name string) string { return filepath.Join(v.folder, name) }

// turns waits until so many turns of an execution have ended, and returns the log.
func (v *visit) turns(id string, n int) (log []wireEvent) {
	v.t.Helper()
	v.eventually(fmt.Sprintf("the end of turn %d", n), func() bool {
		log = v.page(id)
		return len(of[domain.TurnEnded](v.t, log)) >= n
	})
	return log
}

// closed closes an execution and expects it to be completed.
func (v *visit) closed(id string) execution {
	v.t.Helper()
	if end := want[execution](v.client, http.StatusOK, "POST", "/executions/"+id+"/close", nil, waits); end.Status != "completed" {
		v.t.Errorf("closed as %s", end.Status)
	}
	return v.get(id)
}

// beginsAnew chooses that an agent without a memory begins a new session.
func (v *visit) beginsAnew(id string) {
	v.t.Helper()
	v.reach(id, domain.StatusInterrupted)
	want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fresh"})
}

// told expects an execution to be completed, and the agent to have been told this.
func (v *visit) told(id, what string) []wireEvent {
	v.t.Helper()
	end := v.ended(id)
	log := v.page(id)
	if end.Status != "completed" || !strings.Contains(text(v.t, log), what) {
		v.t.Errorf("%s %+v: the agent was told %q, want %q", end.Status, end.Output.Error, text(v.t, log), what)
	}
	return log
}

// withdrawn expects an approval to be ended without a decision.
func (v *visit) withdrawn(approvalID string) {
	v.t.Helper()
	a := want[approval](v.client, http.StatusOK, "GET", "/approvals/"+approvalID, nil)
	if a.Status != "cancelled" || a.Decision != nil {
		v.t.Errorf("the approval is %s, %+v", a.Status, a.Decision)
	}
	v.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+approvalID, yes(a))
	v.refused(http.StatusGone, "approvalCancelled", "POST", "/approvals/"+approvalID, object{"decision": "deny"})
}

// yes is the plain approval.
func yes(a approval) object { return object{"decision": "approve", "argumentsHash": a.ArgumentsHash} }

// text is all that the agent has said, message after message.
func text(t *testing.T, log []wireEvent) string {
	t.Helper()
	var said strings.Builder
	for _, delta := range of[domain.MessageDelta](t, log) {
		said.WriteString(delta.Text)
	}
	return said.String()
}

// whoami is what the scripted agent tells of itself with the step of that name.
type whoami struct {
	SessionID          string
	Opened             string // how: new, load or resume
	Cwd                string
	MCPServers         []object
	Settings           map[string]any
	ClientCapabilities struct {
		FS struct{ ReadTextFile, WriteTextFile bool }

		Terminal bool
	}
	ClientInfo struct{ Name, Version string }
	Argv       []string
	Env        []string
	ProcessCwd string
	Pid, Ppid  int
}

// whoamis reads those among what the agent has said.
func whoamis(t *testing.T, log []wireEvent) (all []whoami) {
	t.Helper()
	said := text(t, log)
	for {
		start := strings.Index(said, `{"`)
		if start < 0 {
			return all
		}
		decoder := json.NewDecoder(strings.NewReader(said[start:]))
		var one whoami
		must(t, decoder.Decode(&one))
		all = append(all, one)
		said = said[start+int(decoder.InputOffset()):]
	}
}

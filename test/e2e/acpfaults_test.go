package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// fault is something that an agent does wrong, and what is to become of its execution. Whatever it is, the visit ends by
// holding the execution against the invariants, and the house by looking for what is left.
type fault struct {
	args  []string // of the agent's command line
	entry object   // further fields of its entry in the registry
	run   func(*visit)
}

// faults that cost nothing but time: all of them happen at once to one server.
var faults = joined(crashes, hangs, cancels, departures, deafness)

func joined(tables ...map[string]fault) map[string]fault {
	all := map[string]fault{}
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}

// crashes: the process is gone, in each phase.
var crashes = map[string]fault{
	"crash-start":      {args: []string{"-crash", "start"}, run: fails(domain.CodeAgentExited)},
	"crash-initialize": {args: []string{"-crash", "initialize"}, run: fails(domain.CodeAgentExited)},
	"crash-new":        {args: []string{"-crash", "new"}, run: fails(domain.CodeAgentExited)},
	"crash-mode": {
		args: []string{"-modes", "plan,code", "-crash", "mode"}, entry: object{"mode": "code"},
		run: fails(domain.CodeAgentExited),
	},
	"crash-model": {
		args: []string{"-models", "small,large", "-crash", "model"}, entry: object{"model": "large"},
		run: fails(domain.CodeAgentExited),
	},
	"crash-config": {
		args:  []string{"-modes", "plan,code", "-config", "odd", "-crash", "config"},
		entry: object{"mode": "code"}, run: fails(domain.CodeAgentExited),
	},
	"crash-load":   {args: []string{"-crash", "load"}, run: doesNotComeBack},
	"crash-resume": {args: []string{"-resume", "-crash", "resume"}, run: doesNotComeBack},
	"crash-prompt": {args: []string{"-crash", "prompt"}, run: fails(domain.CodeAgentExited)},
	"crash-middle": {run: func(v *visit) {
		end, log := v.endsAs(v.start("say Half a sen", "stderr out of cheese", "crash 3"), domain.StatusFailed)
		v.failed(end, domain.CodeAgentExited, "exit code 3", "out of cheese")
		if message := of[domain.MessageCompleted](v.t, log); end.Output.Text != "Half a sen" || len(message) != 1 || !message[0].Interrupted {
			v.t.Errorf("said %q, %+v", end.Output.Text, message)
		}
	}},
	"crash-asking": {run: func(v *visit) {
		id := v.start("ask& c1 mark=no", `shell "until [ -e asked ]; do sleep 0.05; done"`, "crash")
		v.asked(id, 1)
		must(v.t, os.WriteFile(filepath.Join(v.folder, "asked"), nil, 0o600))
		end, log := v.endsAs(id, domain.StatusFailed)
		v.failed(end, domain.CodeAgentExited)
		if resolved := of[domain.ApprovalResolved](v.t, log); len(resolved) != 1 || resolved[0].Status != domain.ApprovalCancelled {
			v.t.Errorf("the question of a dead agent: %+v", resolved)
		}
	}},
	"crash-eof": {args: []string{"-crash", "eof"}, run: says("Hello from the scripted agent.")},
}

// hangs: the process is there and does nothing any more, also when it is told to end.
var hangs = map[string]fault{
	"hang-start":      {args: []string{"-hang", "start"}, entry: soonLate, run: fails(domain.CodeAgentTimedOut)},
	"hang-initialize": {args: []string{"-hang", "initialize"}, entry: soonLate, run: fails(domain.CodeAgentTimedOut)},
	"hang-new":        {args: []string{"-hang", "new"}, entry: soonLate, run: fails(domain.CodeAgentTimedOut)},
	"hang-mode": {
		args: []string{"-modes", "plan,code", "-hang", "mode"}, entry: object{"mode": "code", "startTimeoutSeconds": 1},
		run: fails(domain.CodeAgentTimedOut),
	},
	"hang-model": {
		args: []string{"-models", "small,large", "-hang", "model"}, entry: object{"model": "large", "startTimeoutSeconds": 1},
		run: fails(domain.CodeAgentTimedOut),
	},
	"hang-config": {
		args:  []string{"-modes", "plan,code", "-config", "odd", "-hang", "config"},
		entry: object{"mode": "code", "startTimeoutSeconds": 1}, run: fails(domain.CodeAgentTimedOut),
	},
	"hang-load":   {args: []string{"-hang", "load"}, entry: comesOnce, run: doesNotComeBack},
	"hang-resume": {args: []string{"-resume", "-hang", "resume"}, entry: comesOnce, run: doesNotComeBack},
	"hang-prompt": {run: func(v *visit) {
		end, _ := v.endsAs(v.startAs(wordsFirst, "say Half a sen", "hang"), domain.StatusTimedOut)
		v.failed(end, domain.CodeTimedOut)
		if end.Output.Text != "Half a sen" {
			v.t.Errorf("kept %q", end.Output.Text)
		}
	}},
	"no-answer": {run: func(v *visit) {
		end, _ := v.endsAs(v.startAs(wordsFirst, "say All is said.", "noanswer"), domain.StatusTimedOut)
		if end.Output.Text != "All is said." {
			v.t.Errorf("kept %q", end.Output.Text)
		}
	}},
	"hang-eof": {args: []string{"-script", "eof: hang"}, run: says("Hello from the scripted agent.")},
}

// soonLate is for agents that do not answer.
var soonLate = object{"startTimeoutSeconds": 1}

// comesOnce is for agents that come up the first time, and wordsFirst for those that say something before their time is
// over. Both are generous: a dozen of them come up at once, on two cores that others use too.
var (
	comesOnce  = object{"startTimeoutSeconds": 10}
	wordsFirst = object{"timeoutSeconds": 10}
)

// cancels: a turn that is cancelled is cancelled, whatever the agent makes of it, and what it had said is kept.
var cancels = map[string]fault{
	"cancel-heeded":      {run: cancelled("good", "say On and on", forever)},
	"cancel-ignored":     {run: cancelled("ignore", "say On and on", forever)},
	"cancel-is-an-error": {run: cancelled("error", "say On and on", forever)},
	"cancel-is-an-end":   {run: cancelled("endturn", "say On and on", forever)},
	"cancel-hang":        {run: cancelled("ignore", "say On and on", "hang")},
	"cancel-wants-answers": {run: func(v *visit) {
		id := v.start("oncancel needanswer", "ask c1 mark=no")
		v.asked(id, 1)
		v.cancel(id)
	}},
	"cancel-withdraws": {run: func(v *visit) {
		id := v.start("oncancel withdraw", "ask& c1 mark=no", "ask& c2 mark=no", "join")
		v.asked(id, 2)
		v.cancel(id)
	}},
}

// departures: processes that end at the wrong moment, or not at all, or leave somebody behind.
var departures = map[string]fault{
	"orphan-end": {run: func(v *visit) { v.orphaned(v.says("Bye", "orphan orphan.pid 600", "say Bye")) }},
	"orphan-crash": {run: func(v *visit) {
		end, log := v.endsAs(v.start("orphan orphan.pid 600", "say Bye", "crash"), domain.StatusFailed)
		v.failed(end, domain.CodeAgentExited)
		v.orphaned(end, log)
	}},
	"orphan-answerexit": {run: func(v *visit) { v.orphaned(v.says("Bye", "orphan orphan.pid 600", "say Bye", "answerexit")) }},
	"orphan-cancel": {run: func(v *visit) {
		id := v.start("oncancel ignore", "orphan orphan.pid 600", "say On and on", forever)
		v.heard(id, "On and on")
		v.orphaned(v.cancel(id), nil)
	}},
	"reexec-stay": {args: []string{"-reexec", "stay"}, run: says("I am the child", "say I am the child")},
	"reexec-stay-killed": {args: []string{"-reexec", "stay"}, run: func(v *visit) {
		v.killed(func() []int {
			return slices.DeleteFunc(v.processes(), func(pid int) bool { return len(harness.Below(pid)) == 0 })
		})
	}},
	// Who leaves takes the child along: a process that has ended has ended, whom else it may have started.
	"reexec-leave": {args: []string{"-reexec", "leave"}, run: fails(domain.CodeAgentExited, forever)}, // who stays behind might be done before that is seen
	"stubborn":     {run: says("I stay", "ignoreeof", "ignoreterm", "say I stay")},
	"killed": {run: func(v *visit) {
		v.killed(v.processes)
	}},
	"killed-supervisor": {run: func(v *visit) {
		id := v.start("ignoreterm", "orphan orphan.pid 600", "say On and on", forever)
		v.heard(id, "On and on")
		v.kill(id, v.supervisors, "nobody knows how")
	}},
	"killed-asking": {run: func(v *visit) {
		id := v.start("ask c1 mark=no")
		v.asked(id, 1)
		v.kill(id, v.processes, "killed")
	}},
}

// deafness: the agent does not read any more. A pipe takes 64 KiB before anybody notices.
var deafness = map[string]fault{
	"deaf-prompt": {run: func(v *visit) {
		id := v.toDeafEars()
		ended := of[domain.TurnEnded](v.t, v.turns(id, 2))[1]
		if ended.Error == nil || ended.Error.Code != domain.CodeAgentTimedOut || !strings.Contains(ended.Error.Message, "does not read") {
			v.t.Errorf("the turn ended with %+v", ended.Error)
		}
		v.reach(id, domain.StatusIdle)
		v.prompt(id, "say I hear you") // to a process that the prompt starts
		v.eventually("an answer", func() bool { return strings.HasSuffix(text(v.t, v.page(id)), "I hear you") })
		v.reach(id, domain.StatusIdle)
		v.closed(id)
	}},
	"deaf-prompt-cancel": {run: func(v *visit) {
		id := v.toDeafEars()
		v.reach(id, domain.StatusWaiting)
		v.cancel(id)
	}},
	"deaf-cancel": {run: func(v *visit) {
		id := v.start("deafen", "oncancel ignore", "say On and on", forever)
		v.heard(id, "On and on")
		v.cancel(id)
	}},
}

// TestAgentFaults has all of them happen at once on one server, and then the loud ones, one after the other.
func TestAgentFaults(t *testing.T) {
	h := openHouse(t, engine{}, entries(joined(faults, floods)))
	h.warm(t)
	before := h.take(t)
	h.within(t, before, func() { t.Run("at once", h.suffer) })
	for _, name := range slices.Sorted(maps.Keys(floods)) {
		h.within(t, h.take(t), func() { t.Run(name, func(t *testing.T) { floods[name].run(h.visit(t, name)) }) })
	}
}

// entries are the agents of the faults in the registry.
func entries(all map[string]fault) map[string]object {
	agents := map[string]object{"scripted": {}}
	for name, f := range all {
		agents[name] = object{"args": append([]string{}, f.args...)}
		maps.Copy(agents[name], f.entry)
	}
	return agents
}

// suffer runs all faults, more of them at once than the tests of a package would be: they wait most of the time.
func (h *house) suffer(t *testing.T) {
	var running sync.WaitGroup
	places := make(chan struct{}, 12)
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(name, func(t *testing.T) { faults[name].run(h.visit(t, name)) })
		})
	}
	running.Wait()
}

// floods: much of something. One line of an agent is held in memory up to 8 MiB.
var floods = map[string]fault{
	"flood-noise":    {run: says("done", "flood 52428800", "say done")},
	"flood-one-line": {run: says("done", "flood 52428800 0", "say done")},
	"flood-stderr": {run: func(v *visit) {
		end, _ := v.endsAs(v.startAs(object{"debug": true}, "stderrflood 52428800", "stderr last words", "crash"), domain.StatusFailed)
		v.failed(end, domain.CodeAgentExited, "last words")
	}},
	"long-notification": {run: func(v *visit) {
		_, log := v.says("done", "longline 100", "say done")
		passedOn := of[domain.AgentUpdated](v.t, log)
		if len(passedOn) != 1 || passedOn[0].Kind != "disturbance" {
			v.t.Errorf("a lost line is not told of: %+v", passedOn)
		}
	}},
	"long-request": {run: func(v *visit) {
		end, _ := v.says("", "longline 100 as=request", "say done")
		if !strings.Contains(end.Output.Text, "_filler=error -32600") {
			v.t.Errorf("the agent was told %q", end.Output.Text)
		}
	}},
	"long-response": {run: func(v *visit) {
		end, _ := v.endsAs(v.start("say done", "longline 100 as=response"), domain.StatusFailed)
		v.failed(end, domain.CodeAgentFailed, "too large")
	}},
}

// TestAnswerBeforeTheEnd: an agent that ends right behind its answer has answered, every time.
func TestAnswerBeforeTheEnd(t *testing.T) {
	t.Parallel()
	h := openHouse(t, engine{}, map[string]object{"scripted": {}})
	v := h.visit(t, "scripted")
	places := make(chan struct{}, 4)
	var running sync.WaitGroup
	for i := range 50 {
		places <- struct{}{}
		said := fmt.Sprintf("last words %d", i)
		id := v.start("say "+said, fmt.Sprintf("answerexit %d", i%2))
		running.Go(func() {
			defer func() { <-places }()
			if end, _ := v.ending(id); end.Status != "completed" || end.Output.Text != said {
				t.Errorf("%d ended as %s: %+v", i, end.Status, end.Output)
			}
		})
	}
	running.Wait()
}

// mischief is what agents are in the middle of when their server is killed: an agent of the registry and its prompt. All say that they are,
// but the last, whose process is enough. It begins when the others have spoken: where it did not wait for them, it was given up meanwhile.
var mischief = []struct {
	args, steps []string
	entry       object // further fields of its entry in the registry
}{
	{steps: []string{"say On and on", "pace 1", "burst 1000000"}},
	{steps: []string{"say On and on", "hang"}},
	{steps: []string{"ignoreeof", "ignoreterm", "deafen", "say On and on", forever}},
	{steps: []string{"orphan orphan.pid 600", "say On and on", forever}},
	{steps: []string{"orphan orphan.pid 600", "ignoreterm", "say On and on", "flood 4000000000"}},
	{steps: []string{"say On and on", "stderrflood 4000000000"}},
	{args: []string{"-reexec", "stay"}, steps: []string{"ignoreterm", "say On and on", forever}},
	{steps: []string{"ignoreeof", `shell "setsid sleep 600 >/dev/null 2>&1 & echo On and on"`, "ask c1 mark=no"}},
	{args: []string{"-hang", "new"}, entry: object{"startTimeoutSeconds": 5}},
}

// TestServerIsKilled: when the server dies by kill -9, all of its agents and whatever they have started die too,
// soon; and the executions are there when it comes back.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	h := newHouse(t, engine{url: postgres(t)}, mischiefs())
	h.start()
	h.isKilled(t)
}

// TestServerIsKilledAsUser is the same for a server that an ordinary user runs: it has other ways to keep hold of its
// processes.
func TestServerIsKilledAsUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	const nobody = 65534
	h := newHouse(t, engine{}, mischiefs())
	h.give(nobody)
	h.startAs(nobody)
	h.isKilled(t)
}

func (h *house) isKilled(t *testing.T) {
	visits := h.begin(t)
	h.restart(h.server.kill)
	settled(visits)
}

// mischiefs is the registry for them.
func mischiefs() map[string]object {
	agents := map[string]object{}
	for i, m := range mischief {
		entry := object{"args": append([]string{}, m.args...)}
		maps.Copy(entry, m.entry)
		agents[fmt.Sprintf("agent%d", i)] = entry
	}
	return agents
}

// begin starts all the mischief and returns when all of it is under way.
func (h *house) begin(t *testing.T) (visits []*visit) {
	start := func(i int) *visit {
		v := h.visit(t, fmt.Sprintf("agent%d", i))
		must(t, os.Chmod(v.folder, 0o777)) // the server may be somebody else
		v.start(mischief[i].steps...)
		visits = append(visits, v)
		return v
	}
	last := len(mischief) - 1
	for i := range last {
		start(i)
	}
	for _, v := range visits {
		v.heard(v.all[0].id, "On and on")
	}
	silent := start(last)
	silent.eventually("a process", func() bool { return len(harness.WorkingIn(silent.folder)) > 0 })
	return visits
}

// settled waits until what goes on by itself has done so.
func settled(visits []*visit) {
	for _, v := range visits {
		v.eventually("an end, or a choice for somebody", func() bool {
			status := domain.Status(v.get(v.all[0].id).Status)
			return status.Terminal() || status == domain.StatusInterrupted
		})
	}
}

// give hands what the server needs to an ordinary user.
func (h *house) give(uid int) {
	for _, folder := range []string{filepath.Dir(h.home), filepath.Dir(binary), filepath.Dir(acptest.Build(h.t))} {
		must(h.t, os.Chmod(folder, 0o755))
	}
	for _, all := range []string{h.home, h.database} {
		must(h.t, filepath.WalkDir(all, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, uid, uid)
		}))
	}
}

// startAs is start for another user. It leaves a killed server to be started again by whoever runs the tests.
func (h *house) startAs(uid uint32) {
	h.t.Helper()
	s := h.server
	command := exec.Command(binary)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	s.run(command)
	s.client.t = h.t
	s.eventually("a server", func() bool {
		s.client.Base = harness.Address(s.stderr.String())
		return s.client.Base != "" || !s.running()
	})
	s.client.Token = s.readToken()
}

// fails is a fault that ends an execution with these steps as failed.
func fails(code domain.Code, steps ...string) func(*visit) {
	return func(v *visit) {
		end, _ := v.endsAs(v.start(steps...), domain.StatusFailed)
		v.failed(end, code)
	}
}

// doesNotComeBack is a fault that shows when the agent's session is taken up again, after its process was lost in between.
// The conversation is not lost with it, nor is the prompt that waits: somebody chooses.
func doesNotComeBack(v *visit) {
	id := v.startAs(object{"keepOpen": true}, "say first", "answerexit")
	v.reach(id, domain.StatusIdle)
	// A prompt that comes while the process is still about to exit may have reached it: then its turn fails, and the agent is not opened again.
	v.eventually("the exit of the agent", func() bool { return len(of[domain.AgentExited](v.t, v.page(id))) > 0 })
	v.prompt(id, "say second")
	v.reach(id, domain.StatusInterrupted)
	if changes := of[domain.StateChanged](v.t, v.page(id)); changes[len(changes)-1].Reason == "" {
		v.t.Error("nobody says why it is interrupted")
	}
	want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fail"})
	end, _ := v.endsAs(id, domain.StatusFailed)
	v.failed(end, domain.CodeInterrupted)
}

// says is a fault that harms nobody: all is said, and the execution is completed.
func says(words string, steps ...string) func(*visit) {
	return func(v *visit) { v.says(words, steps...) }
}

// says expects an execution with these steps to end as completed, with these words unless they are empty.
func (v *visit) says(words string, steps ...string) (execution, []wireEvent) {
	v.t.Helper()
	end, log := v.complete(steps...)
	if words != "" && end.Output.Text != words {
		v.t.Errorf("said %q, want %q", end.Output.Text, words)
	}
	return end, log
}

// cancelled is a fault in the face of a cancel.
func cancelled(manners string, steps ...string) func(*visit) {
	return func(v *visit) {
		id := v.start(append([]string{"oncancel " + manners}, steps...)...)
		v.heard(id, "On and on")
		if end := v.cancel(id); end.Output.Text != "On and on" {
			v.t.Errorf("kept %q", end.Output.Text)
		}
	}
}

// cancel expects an execution to end as cancelled, within the patience.
func (v *visit) cancel(id string) execution {
	v.t.Helper()
	begun := time.Now()
	end := v.cancelled(id, nil)
	if took := time.Since(begun); end.Status != "cancelled" || took > patience {
		v.t.Errorf("%s after %s", end.Status, took.Round(time.Millisecond))
	}
	return v.get(id)
}

// heard waits until the agent has said something.
func (v *visit) heard(id, words string) {
	v.t.Helper()
	v.eventually("words of "+v.agent, func() bool {
		log := v.page(id)
		if domain.EventType(log[len(log)-1].Type).Terminal() {
			v.t.Fatalf("%s ended: %s", v.agent, log[len(log)-1].Raw)
		}
		return strings.Contains(text(v.t, log), words)
	})
}

// endsAs waits for the end of an execution.
func (v *visit) endsAs(id string, status domain.Status) (execution, []wireEvent) {
	v.t.Helper()
	end, log := v.ending(id)
	if end.Status != string(status) {
		v.t.Errorf("ended as %s: %+v", end.Status, end.Output)
	}
	return end, log
}

func (v *visit) ending(id string) (execution, []wireEvent) {
	v.t.Helper()
	return v.ended(id), v.page(id)
}

// failed expects a code, and a message that says these things.
func (v *visit) failed(end execution, code domain.Code, says ...string) {
	v.t.Helper()
	if end.Output == nil || end.Output.Error == nil || end.Output.Error.Code != string(code) {
		v.t.Fatalf("ended with %+v, want the code %s", end.Output, code)
	}
	for _, words := range says {
		if !strings.Contains(end.Output.Error.Message, words) {
			v.t.Errorf("the message does not say %q: %s", words, end.Output.Error.Message)
		}
	}
}

// orphaned expects that there was an orphan. That it is gone is seen at the end of the visit.
func (v *visit) orphaned(_ execution, _ []wireEvent) {
	v.t.Helper()
	if _, err := os.Stat(filepath.Join(v.folder, "orphan.pid")); err != nil {
		v.t.Error("there was no orphan:", err)
	}
}

// toDeafEars leads an execution into a turn whose prompt the agent does not read. What a deaf agent gets first is read and
// ignored; that is the refusal of its request.
func (v *visit) toDeafEars() (id string) {
	v.t.Helper()
	id = v.startAs(object{"keepOpen": true}, "deafen", `rawline {"jsonrpc":"2.0","id":"x","method":"_nobody/knows"}`, "say I hear nothing")
	v.reach(id, domain.StatusIdle)
	v.promptAs(id, object{"prompt": strings.Repeat("Do you hear me? ", 10_000)})
	return id
}

// killed kills an agent in the middle of its turn.
func (v *visit) killed(which func() []int) {
	v.t.Helper()
	id := v.start("ignoreterm", "say On and on", forever)
	v.heard(id, "On and on")
	v.kill(id, which, "killed")
}

// kill kills processes of the visit from outside, and expects that the execution fails of that, with these words.
func (v *visit) kill(id string, which func() []int, says string) {
	v.t.Helper()
	victims := which()
	if len(victims) == 0 {
		v.t.Fatal("there is nobody to kill")
	}
	for _, pid := range victims {
		must(v.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	begun := time.Now()
	end, _ := v.endsAs(id, domain.StatusFailed)
	v.failed(end, domain.CodeAgentExited, says)
	if took := time.Since(begun); took > patience {
		v.t.Errorf("that was noticed after %s", took)
	}
}

// processes are those that work in the folder of the visit.
func (v *visit) processes() (pids []int) {
	for _, p := range harness.WorkingIn(v.folder) {
		pids = append(pids, p.PID)
	}
	return pids
}

// supervisors are the processes of the server that stand directly above them.
func (v *visit) supervisors() (pids []int) {
	for _, pid := range v.processes() {
		for up, there := harness.ProcessOf(pid); there; up, there = harness.ProcessOf(up.Parent) {
			if up.Parent == v.house.process.PID() {
				pids = append(pids, up.PID)
			}
		}
	}
	return slices.Compact(pids)
}

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

const (
	loadAgents = 100
	loadChunks = 300
	loudChunks = 30_000           // of one more agent
	loadEnds   = 10 * time.Minute // the loud one has taken 57 s where others worked too
)

// TestLoad: a hundred agents speak at once, as fast as they can, and one says a hundred times as much. Nothing of it is
// dropped, doubled or out of order: not in the log, not for who follows it live, and not for who follows over connections
// that break. The engines take turns: two hundred agents under the race detector are more memory than a test should take.
func TestLoad(t *testing.T) {
	for _, engine := range []struct {
		name string
		open func(*testing.T) engine
	}{{"SQLite", func(*testing.T) engine { return engine{} }}, {"Postgres", func(t *testing.T) engine { return engine{url: postgres(t)} }}} {
		t.Run(engine.name, func(t *testing.T) {
			h := openHouse(t, engine.open(t), map[string]object{"scripted": {}})
			h.warm(t)
			before, peak := h.take(t), h.peak(t)
			t.Run("at once", h.load)
			t.Logf("anonymous memory: %d MB before, at most %d MB", before.memory>>20, peak()>>20)
			h.back(t, before)
		})
	}
}

func (h *house) load(t *testing.T) {
	v := h.visit(t, "scripted")
	begun := time.Now()
	for range loadAgents + 1 {
		v.startAs(object{"keepOpen": true}, `say "ready "`)
	}
	v.idle(1)
	processes, memory := h.supervisors(t)
	t.Logf("%d agents are ready after %s; %d processes of ours stand above them, with %d MB", loadAgents+1, since(begun), processes, memory>>20)

	begun = time.Now()
	live, chunks := v.live(), map[string]int{}
	for i, f := range v.all {
		chunks[f.id] = loadChunks
		if i == 0 {
			chunks[f.id] = loudChunks
		}
		v.insist(f.id, fmt.Sprintf("burst %d", chunks[f.id]))
	}
	v.idle(2)
	t.Logf("all has been said after %s", since(begun))
	v.end(v.ids()...)
	t.Logf("all have ended after %s", since(begun))
	for id, n := range chunks {
		log := v.page(id)
		if said := text(t, log); said != "ready "+numbered(n) {
			t.Errorf("of %d chunks, what was said is %d bytes, not %d: %.200q", n, len(said), len(numbered(n)), said)
		}
		if live[id] == nil {
			continue
		}
		if seen := <-live[id]; !equal(seen, log) {
			t.Errorf("who followed live has seen %d events, the log has %d", len(seen), len(log))
		}
	}
}

// insist prompts, and again where the server has no time.
func (v *visit) insist(id, step string) {
	v.t.Helper()
	v.patiently(loadEnds, "a prompt that is taken", func() bool {
		return v.hasTime(http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": further(step)}, nil)
	})
}

// hasTime tells whether a request was answered. A server that so many agents keep busy may say that its database does no work for it, and to
// come again; it has once, on a machine that was busy with other tests, too.
func (v *visit) hasTime(status int, method, path string, body, into any) bool {
	v.t.Helper()
	response, content := v.do(method, path, body)
	switch response.StatusCode {
	case http.StatusServiceUnavailable:
		return false
	case status:
	default:
		v.t.Fatalf("%s %s: %s: %s", method, path, response.Status, content)
	}
	if into != nil {
		must(v.t, json.Unmarshal(content, into))
	}
	return true
}

func since(begun time.Time) time.Duration { return time.Since(begun).Round(time.Millisecond) }

// idle waits until all executions have come to the end of a turn.
func (v *visit) idle(turn int) {
	v.t.Helper()
	for _, f := range v.all {
		v.patiently(loadEnds, "the end of a turn", func() bool {
			var e struct {
				Status domain.Status
				Turn   int
			}
			if !v.hasTime(http.StatusOK, "GET", "/executions/"+f.id, nil, &e) {
				return false
			}
			if e.Status.Terminal() {
				v.t.Fatalf("an execution ended as %s: %+v", e.Status, v.get(f.id).Output)
			}
			return e.Status == domain.StatusIdle && e.Turn == turn
		})
	}
}

// supervisors counts the processes of the server's own that stand above its agents, and what they hold.
func (h *house) supervisors(t *testing.T) (n int, memory int64) {
	for _, p := range h.below() {
		pid := strconv.Itoa(p.PID)
		if program, err := os.Readlink("/proc/" + pid + "/exe"); err == nil && program == binary {
			n++
			memory += anonymous(t, pid)
		}
	}
	return n, memory
}

// live follows every tenth execution of the visit on one connection that stays. That over connections that break, and at
// random points, every visit does by itself for all.
func (v *visit) live() map[string]chan []wireEvent {
	live := map[string]chan []wireEvent{}
	for i := 0; i < len(v.all); i += 10 {
		seen := make(chan []wireEvent, 1)
		live[v.all[i].id] = seen
		go func() {
			var log []wireEvent
			if _, err := v.follow(context.Background(), v.all[i].id, 0, func(e wireEvent) bool { log = append(log, e); return true }); err != nil {
				v.t.Error("following live:", err)
			}
			seen <- log
		}()
	}
	return live
}

// numbered is the text of a burst.
func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "%d ", i)
	}
	return text.String()
}

// usage is what a server holds at a moment.
type usage struct {
	memory int64          // anonymous, in bytes: heap, stacks, and what the race detector remembers of them
	files  map[string]int // open, by what they are
}

// memoryBound is how much a server may grow by what an agent does. The race detector keeps some three bytes for each.
func memoryBound() int64 {
	if len(raceFlags) > 0 {
		return 3 * 64 << 20
	}
	return 64 << 20
}

func (h *house) take(t *testing.T) usage {
	t.Helper()
	return usage{memory: h.memory(t), files: h.files()}
}

func (h *house) proc(path string) string {
	return filepath.Join("/proc", strconv.Itoa(h.process.PID()), path)
}

func (h *house) memory(t *testing.T) int64 {
	t.Helper()
	return anonymous(t, strconv.Itoa(h.process.PID()))
}

func anonymous(t *testing.T, pid string) int64 {
	t.Helper()
	file, err := os.Open("/proc/" + pid + "/smaps_rollup")
	must(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); fields[0] == "Anonymous:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			must(t, err)
			return kilobytes << 10
		}
	}
	t.Fatal("the kernel does not tell")
	return 0
}

// files counts by kind: socket, pipe, anon_inode, or a path.
func (h *house) files() map[string]int {
	all := map[string]int{}
	links, _ := filepath.Glob(h.proc("fd/*"))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			kind, _, _ := strings.Cut(target, ":[")
			all[strings.TrimSuffix(kind, ":")]++
		}
	}
	return all
}

// peak begins to watch the memory of the server; the function that it returns ends that, and tells the highest.
func (h *house) peak(t *testing.T) func() int64 {
	stop, highest := make(chan struct{}), make(chan int64)
	go func() {
		most := h.memory(t)
		for {
			select {
			case <-stop:
				highest <- most
				return
			case <-time.After(100 * time.Millisecond): // a look at a large process takes some milliseconds
				most = max(most, h.memory(t))
			}
		}
	}()
	return func() int64 { close(stop); return <-highest }
}

// back expects that what is bound to executions is closed again: pipes and the like. Connections come and go with clients
// and with the database's pool.
func (h *house) back(t *testing.T, before usage) {
	t.Helper()
	grown := func() (found []string) {
		for kind, n := range h.files() {
			pooled := kind == "socket" || strings.Contains(kind, "signoff.db")
			if more := n - before.files[kind]; more > 0 && !pooled {
				found = append(found, fmt.Sprintf("%d more of %s", more, kind))
			}
		}
		return found
	}
	if left := soon(grown); len(left) > 0 {
		t.Errorf("files stay open: %s", strings.Join(left, ", "))
	}
}

// within lets agents do something and expects that the server has not grown by more than the bound meanwhile, and that it
// holds no more of the system than before when it is over.
func (h *house) within(t *testing.T, before usage, do func()) {
	t.Helper()
	peak := h.peak(t)
	do()
	highest := peak()
	t.Logf("anonymous memory: %d MB before, at most %d MB", before.memory>>20, highest>>20)
	if grown := highest - before.memory; grown > memoryBound() {
		t.Errorf("the server has grown by %d MB", grown>>20)
	}
	h.back(t, before)
}

// warm opens what a server opens once.
func (h *house) warm(t *testing.T) {
	t.Run("warm", func(t *testing.T) { h.visit(t, "scripted").complete() })
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

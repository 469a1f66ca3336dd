package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// usage is what a server holds at a moment.
type usage struct {
	memory int64          // anonymous, in bytes: heap, stacks, and what the race detector remembers of them
	files  map[string]int // open, by what they are
}

// memoryBound is how much a server may grow by what an agent does. The race detector keeps some three bytes for each.
func memoryBound() int64 {
	if raceFlag == "-race" {
		return 3 * 64 << 20
	}
	return 64 << 20
}

func (h *house) take(t *testing.T) usage {
	t.Helper()
	return usage{memory: h.memory(t), files: h.files()}
}

func (h *house) proc(path string) string {
	return filepath.Join("/proc", strconv.Itoa(h.process.Process.Pid), path)
}

func (h *house) memory(t *testing.T) int64 {
	t.Helper()
	file, err := os.Open(h.proc("smaps_rollup"))
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
			case <-time.After(20 * time.Millisecond):
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

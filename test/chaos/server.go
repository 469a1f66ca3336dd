//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"signoff/test/harness"
)

// object is a JSON object that somebody writes down.
type object = harness.Object

// wire is the connections of all clients. A server that was killed breaks them, and new ones are made.
var wire = &http.Transport{
	DialContext:         (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
	MaxIdleConnsPerHost: 256,
	IdleConnTimeout:     30 * time.Second,
}

// server is one replica: a process of the real binary that is killed, paused and started again, at one address over one
// data folder.
type server struct {
	run     *run
	name    string
	base    string // http://127.0.0.1:…
	port    int
	home    string
	env     []string
	binary  string // in place of the campaign's
	here    bool   // it is started by the thread that asks for it, in whose mounts it is to live
	mu      sync.Mutex
	process *harness.Process // nil before the first start
}

// givenPorts are the ports of all servers, those that are down among them: the port of one has been given to a server of another world.
var givenPorts sync.Map

// freePort finds a port below those that the kernel gives to outgoing connections: a server that is down must find its own
// again. It is the server's until its world is closed.
func freePort(d *dice) (int, error) {
	for range 100 {
		port := 15000 + d.below(15000)
		if _, given := givenPorts.LoadOrStore(port, true); given {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
		givenPorts.Delete(port)
	}
	return 0, fmt.Errorf("no port is free")
}

// launch starts the process and does not wait for it.
func (s *server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(cmp.Or(s.binary, s.run.stage.binary))
	process.Env, process.Dir, process.Stderr, process.Stdout = s.env, s.home, log, log
	start := harness.Start
	if s.here {
		start = harness.StartHere
	}
	started, err := start(process)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = started
	return nil
}

// start launches the process and waits until it is ready. It returns how long that took.
func (s *server) start() (took time.Duration) {
	begun := time.Now()
	s.run.must(s.launch())
	s.run.must(s.ready(60 * time.Second))
	return time.Since(begun)
}

// restart kills the process and starts another one.
func (s *server) restart() (took time.Duration) {
	s.run.must(s.kill())
	return s.start()
}

// ready waits until the server says that it is.
func (s *server) ready(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(s.run.ctx, patience)
	defer cancel()
	switch err := s.running().Await(ctx, func() bool { return harness.Client{Base: s.base, Transport: wire}.Ready(ctx) }); {
	case errors.Is(err, harness.ErrExited):
		return fmt.Errorf("%s has ended by itself, see %s, which ends with:\n%s", s.name, s.log(), s.newestLog())
	case err != nil:
		return fmt.Errorf("%s is not ready after %s, see %s, which ends with:\n%s", s.name, patience, s.log(), s.newestLog())
	}
	return nil
}

func (s *server) log() string { return filepath.Join(s.home, "log") }

// newestLog is the end of the server's log. A report carries it, because the folder is gone with the machine that a campaign ran on.
func (s *server) newestLog() string {
	const lines, length = 6, 600
	content, _ := os.ReadFile(s.log())
	all := strings.Split(strings.TrimSpace(string(content)), "\n")
	newest := all[max(0, len(all)-lines):]
	for i, line := range newest {
		newest[i] = line[:min(len(line), length)]
	}
	return strings.Join(newest, "\n")
}

// running is the newest process, which may have ended; nil: none was started.
func (s *server) running() *harness.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

func (s *server) signal(signal syscall.Signal) error { return s.running().Signal(signal) }

// kill is SIGKILL, and waits for the end.
func (s *server) kill() error { return s.running().Kill() }

// stop is SIGTERM, and SIGKILL for one that does not listen.
func (s *server) stop() {
	if p := s.running(); p != nil {
		_, _ = p.Stop(10 * time.Second) // it may have ended, and whoever stops it wants no more
	}
}

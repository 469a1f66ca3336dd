package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

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
	process *exec.Cmd
	exited  chan struct{}
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
	log, err := os.OpenFile(filepath.Join(s.home, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.Command(cmp.Or(s.binary, s.run.stage.binary))
	process.Env, process.Dir, process.Stderr, process.Stdout = s.env, s.home, log, log
	// A campaign that is killed leaves no servers behind.
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	start := s.run.stage.starter.start
	if s.here {
		start = (*exec.Cmd).Start
	}
	if err := start(process); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.mu.Lock()
	s.process, s.exited = process, exited
	s.mu.Unlock()
	go func() {
		_ = process.Wait()
		close(exited)
	}()
	return nil
}

// start launches the process and waits until it says that it is ready. It returns how long that took.
func (s *server) start() (time.Duration, error) {
	begun := time.Now()
	if err := s.launch(); err != nil {
		return 0, err
	}
	err := s.ready(60 * time.Second)
	return time.Since(begun), err
}

// ready waits until the server says that it is.
func (s *server) ready(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(s.run.ctx, patience)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := wire.RoundTrip(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s, see %s", s.name, patience, filepath.Join(s.home, "log"))
		case <-s.gone():
			return fmt.Errorf("%s has ended by itself, see %s", s.name, filepath.Join(s.home, "log"))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// gone is closed when the process has ended.
func (s *server) gone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

func (s *server) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Process.Signal(signal)
}

// kill is SIGKILL, and waits for the end.
func (s *server) kill() error {
	if err := s.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.gone()
	return nil
}

// stop is SIGTERM, and SIGKILL for one that does not listen.
func (s *server) stop() {
	if s.gone() == nil {
		return
	}
	_ = s.signal(syscall.SIGCONT)
	_ = s.signal(syscall.SIGTERM)
	select {
	case <-s.gone():
	case <-time.After(10 * time.Second):
		_ = s.kill()
	}
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// leased is a sandbox with a lease of its own.
func leased(t testing.TB, m method) *Sandbox {
	t.Helper()
	s := open(m)
	own, err := newLease()
	must(t, err)
	t.Cleanup(func() { own.readOnly.Close() })
	s.lease = own
	return s
}

// family is a script with a child that ignores signals and a grandchild that has left for a session of its own.
func family(mark string) string {
	return fmt.Sprintf("trap '' TERM HUP; (setsid sh -c 'sleep %[1]s & exit' &); setsid sleep %[1]s & echo up; sleep %[1]s", mark)
}

func TestCommandDiesWithTheLease(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		s = leased(t, s.method)
		atBest(t, dies, func() time.Duration {
			m := mark()
			s.Trust(time.Now().Add(time.Hour))
			failed := make(chan error, 1)
			command := domain.Command{Argv: []string{"sh", "-c", family(m)}, Dir: folder(t)}
			go func() {
				_, err := s.Run(context.Background(), command, io.Discard)
				failed <- err
			}()
			eventually(t, "three processes run", func() bool { return len(alive(m)) == 3 })
			lapsed := time.Now()
			s.Trust(lapsed)
			if err := <-failed; !errors.Is(err, errLapsed) {
				t.Errorf("error %v", err)
			}
			wantDead(t, m)
			return time.Since(lapsed)
		})
	})
}

func TestProcessDiesWithTheLease(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		s = leased(t, s.method)
		atBest(t, dies, func() time.Duration {
			m := mark()
			s.Trust(time.Now().Add(time.Hour))
			c := begin(t, s, family(m))
			expect(t, c, "up")
			eventually(t, "three processes run", func() bool { return len(alive(m)) == 3 })
			lapsed := time.Now()
			s.Trust(lapsed)
			if exit := ends(t, c); exit != (Exit{Code: 137, Signal: "killed"}) {
				t.Errorf("%+v", exit)
			}
			wantDead(t, m)
			return time.Since(lapsed)
		})
	})
}

// TestStoppedServerLosesItsLease has a server that can do nothing any more, and yet holds its pipes open.
func TestStoppedServerLosesItsLease(t *testing.T) {
	atOnce(t, processMethods, func(t *testing.T, s *Sandbox) {
		// Each try has a longer lease: a server that gets no processor time for as long as its lease loses it, rightly.
		for lease := 3 * time.Second; ; lease *= 3 {
			if livesOnAndDies(t, s.method, lease) {
				return
			}
			if lease > slack/3 {
				t.Fatalf("it does not live under a lease of %v that is renewed", lease)
			}
		}
	})
}

// livesOnAndDies reports whether a command and a process have outlived a lease that their server renews. Then it stops the server, and
// both must die.
func livesOnAndDies(t *testing.T, by method, lease time.Duration) bool {
	m := mark()
	server := exec.Command(self, "__leasedServer", string(by), folder(t), family(m), lease.String())
	must(t, server.Start())
	defer server.Wait()
	defer server.Process.Kill()
	begun := time.Now()
	for len(alive(m)) != 6 {
		if time.Since(begun) > slack {
			t.Logf("running under a lease of %v after %v: %v", lease, slack, alive(m))
			return false
		}
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(lease + time.Second)
	if running := alive(m); len(running) != 6 {
		t.Logf("running under a lease of %v that is renewed: %v", lease, running)
		return false
	}
	must(t, server.Process.Signal(unix.SIGSTOP))
	stopped := time.Now()
	eventually(t, "all are dead", func() bool { return len(alive(m)) == 0 })
	t.Log("dead after", time.Since(stopped).Round(time.Millisecond))
	return true
}

// leasedServerRole is a server with a command and a process that renews its lease, until it is stopped.
func leasedServerRole(args []string) {
	s := open(method(args[0]))
	lease, err := time.ParseDuration(args[3])
	if err != nil {
		panic(err)
	}
	s.Trust(time.Now().Add(lease))
	go func() {
		for range time.Tick(lease / 30) {
			s.Trust(time.Now().Add(lease))
		}
	}()
	argv := []string{"/bin/sh", "-c", args[2]}
	_, err = s.Start(context.Background(), Process{Argv: argv, Dir: args[1], Env: []string{"PATH=" + searchPath}})
	if err == nil {
		_, err = s.Run(context.Background(), domain.Command{Argv: argv, Dir: args[1]}, io.Discard)
	}
	fmt.Println("the command has ended:", err)
	os.Exit(1)
}

func TestNothingStartsWithoutTheLease(t *testing.T) {
	each(t, processMethods, func(t *testing.T, s *Sandbox) {
		s, dir := leased(t, s.method), folder(t)
		file := dir + "/started"
		argv := []string{"/bin/sh", "-c", "echo started > " + file}
		s.Trust(time.Now().Add(-time.Second))
		_, err := s.Run(t.Context(), domain.Command{Argv: argv, Dir: dir}, io.Discard)
		if domain.CodeOf(err) != domain.CodeNotStarted || !strings.Contains(err.Error(), "lease") {
			t.Errorf("command: %v", err)
		}
		_, err = s.Start(t.Context(), Process{Argv: argv, Dir: dir})
		if domain.CodeOf(err) != domain.CodeAgentUnavailable || !strings.Contains(err.Error(), "lease") {
			t.Errorf("process: %v", err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("something was started")
		}
		s.Trust(time.Now().Add(time.Hour))
		if _, result := shell(t, s, dir, "exit 3"); result.ExitCode != 3 {
			t.Errorf("under a new lease: %+v", result)
		}
	})
}

func TestTrust(t *testing.T) {
	l := leased(t, bySubreaper).lease
	for _, one := range []struct {
		until time.Time
		over  bool
	}{
		{time.Time{}, false},
		{time.Now(), true},
		{time.Now().Add(-100 * 365 * 24 * time.Hour), true},
		{time.Time{}.Add(1), true},
		{time.Now().Add(time.Hour), false},
		{time.Unix(1<<40, 0), false},
	} {
		if l.trust(one.until); l.isOver() != one.over {
			t.Errorf("trusted until %v, is over: %v", one.until, !one.over)
		}
	}
}

// TestLeaseIsOutOfReach looks for the memory in a program, and tries to write through what a supervisor inherits.
func TestLeaseIsOutOfReach(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		output, _ := shell(t, s, folder(t), "cat /proc/self/maps; ls -l /proc/self/fd; grep -l signoff-lease /proc/*/maps")
		if strings.Contains(output, "signoff-lease") || s.method != bySubreaper && strings.Contains(output, "/maps\n") {
			t.Errorf("the lease can be seen:\n%s", output)
		}
	})
	l := leased(t, bySubreaper).lease
	inherited := int(l.readOnly.Fd())
	if _, err := unix.Mmap(inherited, 0, leaseSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("the memory can be mapped for writing")
	}
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", inherited), os.O_RDWR, 0)
	if err == nil {
		defer again.Close()
		if _, err := again.WriteAt(make([]byte, leaseSize), 0); err == nil {
			t.Error("the memory can be written")
		}
		if err := again.Truncate(0); err == nil {
			t.Error("the memory can be taken away")
		}
	}
	l.trust(time.Now())
	if !l.isOver() {
		t.Error("the server itself cannot write it any more")
	}
}

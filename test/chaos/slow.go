package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"signoff/internal/store/storetest"
)

// A slow disk is one whose fsync takes its time: strace holds the call back before the kernel gets it. That works for a process that is
// started under it, and for one that runs.
const slowCalls = "fsync,fdatasync"

func tracing(by time.Duration, more ...string) []string {
	return append([]string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + slowCalls,
		"-e", fmt.Sprintf("inject=%s:delay_enter=%d", slowCalls, by.Microseconds())}, more...)
}

// canTrace tries whether this machine lets us.
func (r *run) canTrace(what string) bool {
	if output, err := exec.Command("strace", tracing(time.Microsecond, "true")...).CombinedOutput(); err != nil {
		r.skip(what, fmt.Errorf("strace: %w %s", err, output))
		return false
	}
	return true
}

// slowSQLite runs a server whose every fsync is slow. It is the same process with the same lease: nothing is taken over.
func slowSQLite(r *run) {
	if !r.canTrace("a slow disk under SQLite") {
		return
	}
	folder, err := os.MkdirTemp(r.stage.folder, "slow-")
	r.must(err)
	defer os.RemoveAll(folder)
	by := r.dice.between(50*time.Millisecond, 400*time.Millisecond)
	wrapper := filepath.Join(folder, "signoff")
	// With -D the server stays the process that was started, and can be killed as such.
	script := fmt.Sprintf("#!/bin/sh\nexec strace -D --seccomp-bpf %s %s \"$@\"\n", strings.Join(tracing(by), " "), r.stage.binary)
	r.must(os.WriteFile(wrapper, []byte(script), 0o600))
	r.must(os.Chmod(wrapper, 0o700)) //nolint:gosec // it is a program
	w := newWorld(r, setup{name: "slow-sqlite", live: 8})
	defer w.close()
	quick := w.creation()
	w.servers[0].stop()
	w.servers[0].binary = wrapper
	_, err = w.servers[0].start()
	r.must(err)
	w.drags(quick, by)
}

// slowPostgres slows all processes of a cluster of its own down, those that it will start too. Leases go on being renewed.
func slowPostgres(r *run) {
	if !r.canTrace("a slow disk under Postgres") {
		return
	}
	cluster, err := storetest.NewCluster(true)
	r.must(err)
	defer func() { r.must(cluster.Stop()) }()
	database, err := cluster.Database()
	r.must(err)
	w := newWorld(r, setup{name: "slow-postgres", database: database, replicas: 2, live: 8, env: map[string]string{"SIGNOFF_LEASE_SECONDS": "5"}})
	defer w.close()
	quick := w.creation()
	by := r.dice.between(50*time.Millisecond, 300*time.Millisecond)
	tracer := exec.Command("strace", tracing(by, attached(cluster.Port())...)...)
	tracer.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	r.must(tracer.Start())
	defer func() {
		_ = tracer.Process.Signal(syscall.SIGTERM) // it lets go of what it traces
		_ = tracer.Wait()
	}()
	r.sleep(300 * time.Millisecond)
	w.drags(quick, by)
}

// attached names the processes of the cluster at a port.
func attached(port int) (arguments []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	postmaster := ""
	for range 2 { // first the postmaster, then its children
		for _, folder := range folders {
			pid := filepath.Base(folder)
			command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
			status, _ := os.ReadFile(filepath.Join(folder, "status"))
			switch words := strings.ReplaceAll(string(command), "\x00", " "); {
			case postmaster == "" && strings.Contains(words, "/postgres ") && strings.Contains(words, " -p "+strconv.Itoa(port)+" "):
				postmaster = pid
				arguments = append(arguments, "-p", pid)
			case postmaster != "" && pid != postmaster && strings.Contains(string(status), "\nPPid:\t"+postmaster+"\n"):
				if !slices.Contains(arguments, pid) {
					arguments = append(arguments, "-p", pid)
				}
			}
		}
	}
	return arguments
}

// creation is how long the quickest of some creations takes.
func (w *world) creation() time.Duration {
	quickest := time.Hour
	for range 5 {
		begun := time.Now()
		a := w.make("creation")
		if a.status != http.StatusCreated {
			w.run.must(errors.New(a.String()))
		}
		quickest = min(quickest, time.Since(begun))
	}
	return quickest
}

// drags runs the load over a slow disk. It takes longer, and that is all.
func (w *world) drags(quick, by time.Duration) {
	slow := w.creation()
	w.run.took("creation", quick)
	w.run.took("creation over a slow disk", slow)
	w.run.expect(slow >= by, "%s: the disk is not slow: a creation takes %s where an fsync takes %s", w.name, slow, by)
	w.load.start()
	w.load.awaitLive(6)
	w.run.sleep(4 * time.Second)
	w.load.settle(120 * time.Second)
	w.check()
	w.run.expect(w.recovered() == 0, "%s: F15: %d executions were taken over from servers that only had a slow disk", w.name, w.recovered())
	w.run.count("slow disks", 1)
}

//go:build linux

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
	"signoff/test/harness"
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
	w.servers[0].start()
	w.drags(quick, by)
}

// slowPostgres slows all processes of a cluster of its own down, those that it will start too. Leases go on being renewed. They are those of
// the default: a renewal waits for a commit that waits for another, each with fsyncs that take their time.
func slowPostgres(r *run) {
	if !r.canTrace("a slow disk under Postgres") {
		return
	}
	cluster, err := storetest.NewCluster(true)
	r.must(err)
	defer func() { r.must(cluster.Stop()) }()
	database, err := cluster.Database()
	r.must(err)
	w := newWorld(r, setup{name: "slow-postgres", database: database, replicas: 2, live: 8, env: map[string]string{"SIGNOFF_LEASE_SECONDS": "10"}})
	defer w.close()
	quick := w.creation()
	by := r.dice.between(50*time.Millisecond, 300*time.Millisecond)
	defer r.slowDown(cluster.Port(), by)()
	w.drags(quick, by)
}

// slowDown attaches to all processes of the cluster at a port, and follows their children. One that was born while its parent was attached to
// gets a tracer of its own.
func (r *run) slowDown(port int, by time.Duration) (letGo func()) {
	var tracers []*harness.Process
	letGo = func() {
		for _, tracer := range tracers {
			_, _ = tracer.Stop(time.Minute) // it lets go of what it traces
		}
	}
	defer func() {
		if broke := recover(); broke != nil {
			letGo()
			panic(broke)
		}
	}()
	for left := untraced(port); len(left) > 0; left = untraced(port) {
		if len(tracers) == 10 {
			r.must(fmt.Errorf("strace does not get hold of the processes %v of Postgres", left))
		}
		command := exec.Command("strace", tracing(by, "-p", strings.Join(left, ","))...)
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		tracer, err := harness.Start(command)
		r.must(err)
		tracers = append(tracers, tracer)
		r.await(time.Second, func() bool { return !slices.ContainsFunc(left, isUntraced) })
	}
	return letGo
}

// untraced names the processes of the cluster at a port that nobody traces: the postmaster, then its children.
func untraced(port int) (left []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	postmaster := slices.IndexFunc(folders, func(folder string) bool {
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		words := strings.ReplaceAll(string(command), "\x00", " ")
		return strings.Contains(words, "/postgres ") && strings.Contains(words, " -p "+strconv.Itoa(port)+" ")
	})
	if postmaster < 0 {
		return nil
	}
	parent := filepath.Base(folders[postmaster])
	for _, folder := range folders {
		pid := filepath.Base(folder)
		if (pid == parent || statusOf(pid, "PPid") == parent) && isUntraced(pid) {
			left = append(left, pid)
		}
	}
	return left
}

// isUntraced reports whether a process is there and nobody traces it.
func isUntraced(pid string) bool { return statusOf(pid, "TracerPid") == "0" }

// statusOf reads a line of what the kernel says of a process; "" where it has ended.
func statusOf(pid, line string) string {
	status, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	_, rest, _ := strings.Cut(string(status), "\n"+line+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// creation is how long the quickest of some creations takes. Over a slow disk of a busy machine one takes longer than a client waits:
// it is asked for again, and what is not answered is not measured.
func (w *world) creation() time.Duration {
	quickest := time.Hour
	end := time.Now().Add(time.Minute)
	for measured := 0; measured < 5; {
		begun := time.Now()
		a := w.make("creation")
		if a.again() && begun.Before(end) {
			w.run.sleep(100 * time.Millisecond)
			continue
		}
		if a.status != http.StatusCreated {
			w.run.must(errors.New(a.String()))
		}
		quickest = min(quickest, time.Since(begun))
		measured++
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
	w.load.settle(240 * time.Second)
	w.check()
	w.run.expect(w.recovered() == 0, "%s: F15: %d executions were taken over from servers that only had a slow disk", w.name, w.recovered())
	w.run.count("slow disks", 1)
}

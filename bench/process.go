package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that is measured from outside.
type process struct {
	command *exec.Cmd
	exited  chan struct{}
}

// launch starts a program that dies with this one, however this one ends.
func launch(command *exec.Cmd) (*process, error) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, exited: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// launchSelf starts one of the floors, and returns where it serves: it is its first line.
func launchSelf(arguments ...string) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	said, out, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	defer said.Close()
	command := exec.Command(self, arguments...)
	command.Stdout, command.Stderr = out, os.Stderr
	p, err := launch(command)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, "", fmt.Errorf("bench %s does not serve: %w", strings.Join(arguments, " "), err)
	}
	return p, strings.TrimSpace(line), nil
}

// stop asks the process to end, and insists after a while.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

func (p *process) pid() int { return p.command.Process.Pid }

// tick is the unit of the CPU times in /proc; the kernel fixes it for user space.
const tick = 10 * time.Millisecond

// cpuTime is what the process, and those of its children that have ended, have used so far.
func cpuTime(pid int) (used time.Duration, err error) { return times(pid, 4) }

// ownTime is what the process alone has used so far.
func ownTime(pid int) (used time.Duration, err error) { return times(pid, 2) }

// times sums the first of utime, stime, cutime, cstime.
func times(pid, first int) (used time.Duration, err error) {
	fields, err := status(pid)
	if err != nil {
		return 0, err
	}
	for _, field := range fields[11 : 11+first] { // proc(5) counts from 1 and from the pid
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(ticks) * tick
	}
	return used, nil
}

// status is the line of /proc/pid/stat behind the name, which may hold anything.
func status(pid int) ([]string, error) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 15 {
		return nil, fmt.Errorf("process %d has no status", pid)
	}
	return fields, nil
}

// children are the processes that pid has started and that still run.
func children(pid int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if fields, err := status(child); err == nil && fields[1] == strconv.Itoa(pid) {
			found = append(found, child)
		}
	}
	return found, nil
}

// memory is what the process holds of its own, in bytes: its anonymous pages. Pages of the program's file are shared and can be read again.
func memory(pid int) (int64, error) {
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(line, "RssAnon:"); found {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("process %d tells nothing of its memory", pid)
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"signoff/test/harness"
)

// launchSelf starts the model or the hub, and returns its address, which it prints first.
func launchSelf(arguments ...string) (*harness.Process, string, error) {
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
	p, err := harness.Start(command)
	if err = errors.Join(err, out.Close()); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("bench %s does not serve: %w", strings.Join(arguments, " "), err), p.Kill())
	}
	return p, strings.TrimSpace(line), nil
}

// farewellPatience is how long a process may take to end.
const farewellPatience = 20 * time.Second

// tick is the unit of the CPU times in /proc; the kernel fixes it for user space.
const tick = 10 * time.Millisecond

// cpuTime is what the process, and those of its children that have ended, have used so far.
func cpuTime(pid int) (used time.Duration, err error) { return times(pid, 4) }

// ownTime is what the process alone has used so far.
func ownTime(pid int) (used time.Duration, err error) { return times(pid, 2) }

// times sums the first of utime, stime, cutime, cstime.
func times(pid, first int) (used time.Duration, err error) {
	fields, err := harness.Stat(pid)
	if err != nil {
		return 0, err
	}
	for _, field := range fields[11 : 11+first] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		used += time.Duration(ticks) * tick
	}
	return used, nil
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
	return 0, fmt.Errorf("process %d has no RssAnon", pid)
}

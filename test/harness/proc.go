package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Proc is a process of this machine, as /proc shows it at a moment.
type Proc struct {
	PID, Parent int
	State       string // Z and X are dead
	Command     string // with its arguments
}

func (p Proc) String() string { return strconv.Itoa(p.PID) + " " + p.Command }

// Dead tells whether the process has ended and only waits for its parent to notice.
func (p Proc) Dead() bool { return p.State == "Z" || p.State == "X" }

// Processes lists all processes. Those that end meanwhile are left out.
func Processes() (all []Proc) {
	for _, pid := range pids() {
		if p, found := ProcessOf(pid); found {
			all = append(all, p)
		}
	}
	return all
}

// ProcessOf is the process of a number, where there is one.
func ProcessOf(pid int) (p Proc, found bool) {
	fields, err := Stat(pid)
	if err != nil {
		return Proc{}, false
	}
	p = Proc{PID: pid, State: fields[0]}
	p.Parent, _ = strconv.Atoi(fields[1])
	command, _ := os.ReadFile(procFile(pid, "cmdline"))
	p.Command = strings.TrimSpace(strings.ReplaceAll(string(command), "\x00", " "))
	return p, true
}

// Below lists the living processes that descend from one, whatever group or session they have moved to.
func Below(ancestor int) (found []Proc) {
	all := Processes()
	parents := map[int]int{}
	for _, p := range all {
		if !p.Dead() {
			parents[p.PID] = p.Parent
		}
	}
	return slices.DeleteFunc(all, func(p Proc) bool {
		up := parents[p.PID]
		for up > 1 && up != ancestor {
			up = parents[up]
		}
		return up != ancestor
	})
}

// WorkingIn lists the processes whose working directory lies in a folder.
func WorkingIn(folder string) (found []Proc) {
	for _, pid := range pids() {
		if target, err := os.Readlink(procFile(pid, "cwd")); err == nil && strings.HasPrefix(target, folder) {
			if p, alive := ProcessOf(pid); alive {
				found = append(found, p)
			}
		}
	}
	return found
}

// WithVariable lists the processes that were started with NAME=value in their environment.
func WithVariable(entry string) (found []Proc) {
	for _, pid := range pids() {
		environment, err := os.ReadFile(procFile(pid, "environ"))
		if err == nil && slices.Contains(strings.Split(string(environment), "\x00"), entry) {
			if p, alive := ProcessOf(pid); alive {
				found = append(found, p)
			}
		}
	}
	return found
}

// Stat has the fields of /proc/PID/stat behind the program's name, which may hold anything: the first is the state, the second the
// parent. proc(5) counts from 1 and from the number of the process, so that its field 14 is Stat's 11.
func Stat(pid int) ([]string, error) {
	line, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 15 {
		return nil, fmt.Errorf("process %d has no status", pid)
	}
	return fields, nil
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

func pids() (all []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

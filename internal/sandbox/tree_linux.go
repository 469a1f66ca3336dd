package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const maxProcesses = 512

// usableMemory bounds the memory of a whole tree: 8 GiB, or half of a machine that has less than twice that.
func usableMemory() uint64 {
	limit := uint64(8 << 30)
	if all := machineMemory(); all > 0 {
		limit = min(limit, all/2)
	}
	return limit
}

// machineMemory is the memory of this machine, or of its container; 0 is unknown.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	all := info.Totalram * uint64(info.Unit)
	text, _ := os.ReadFile("/sys/fs/cgroup/memory.max")
	if limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
		return min(all, limit)
	}
	return all
}

// count walks the tree below pid. It stops at one process too many: a fork bomb grows faster than it can be walked.
func count(pid int) (processes int, memory uint64) {
	for unseen := children(pid); len(unseen) > 0 && processes <= maxProcesses; processes++ {
		next := unseen[0]
		unseen = append(unseen[1:], children(next)...)
		memory += resident(next)
	}
	return processes, memory
}

// resident is a process's own memory: memory shared with others, such as libraries, does not count.
func resident(pid int) uint64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return 0
	}
	all, _ := strconv.ParseUint(fields[1], 10, 64)
	shared, _ := strconv.ParseUint(fields[2], 10, 64)
	return (all - min(all, shared)) * uint64(os.Getpagesize())
}

// children lists the processes whose parent is pid, or the first few hundred of them.
func children(pid int) []int {
	if !childrenListed() {
		return childrenBySearch(pid)
	}
	threads := fmt.Sprintf("/proc/%d/task", pid)
	entries, _ := os.ReadDir(threads) // not a pattern: to match one, the folder of each thread is read as well, with its fifty files
	var all []int
	for _, entry := range entries {
		text := beginning(filepath.Join(threads, entry.Name(), "children"))
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// beginning reads as much of a list as holds more than [maxProcesses]. The list of a fork bomb's first process grows
// while it is read, and each of its lines takes the kernel longer than the one before: it has no end.
func beginning(list string) []byte {
	file, err := os.Open(list)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, _ := io.ReadAll(io.LimitReader(file, 8*(maxProcesses+1)))
	return text[:bytes.LastIndexByte(text, ' ')+1] // the last number may be cut off
}

// childrenListed reports whether the kernel keeps the list (CONFIG_PROC_CHILDREN). It is asked once, about ourselves:
// asked about a process that has just died, it would send us searching, in the middle of a fork bomb.
var childrenListed = sync.OnceValue(func() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err == nil
})

// childrenBySearch looks at every process there is.
func childrenBySearch(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var all []int
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		fields := strings.Fields(rest) // state, parent, …
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

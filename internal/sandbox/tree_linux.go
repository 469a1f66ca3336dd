package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const maxProcesses = 512

// maxMemory is for a whole tree: 8 GiB, or half of a machine that has less than twice that.
var maxMemory = sync.OnceValue(func() uint64 {
	limit := uint64(8 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		limit = min(limit, uint64(info.Totalram)*uint64(info.Unit)/2)
	}
	return limit
})

// count walks the tree below pid.
func count(pid int) (processes int, memory uint64) {
	for _, child := range children(pid) {
		below, used := count(child)
		processes += 1 + below
		memory += used + resident(child)
	}
	return processes, memory
}

// resident is the memory that is a process's own: what it shares with others, such as libraries, is not counted.
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

// children lists the processes whose parent is pid.
func children(pid int) []int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if len(lists) == 0 {
		return childrenBySearch(pid)
	}
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// childrenBySearch is for kernels that do not keep the list (CONFIG_PROC_CHILDREN).
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

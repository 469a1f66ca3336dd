package domain

import (
	"strings"
	"time"
)

// MemoryScope says whose notes: [GlobalMemory], or a runbook's, see [RunbookMemory].
type MemoryScope string

// GlobalMemory is read by all executions with memory.
const GlobalMemory MemoryScope = "global"

const runbookPrefix = "runbook:"

// RunbookMemory is read by the executions of one runbook.
func RunbookMemory(runbookID string) MemoryScope { return MemoryScope(runbookPrefix + runbookID) }

// Runbook is the id of the runbook whose notes these are; empty for the global ones.
func (s MemoryScope) Runbook() string {
	id, found := strings.CutPrefix(string(s), runbookPrefix)
	if !found {
		return ""
	}
	return id
}

// MaxMemoryBytes bounds the notes of one scope: they are a part of every prompt.
const MaxMemoryBytes = 64 << 10

// Memory is what agents noted for later executions.
type Memory struct {
	Scope    MemoryScope
	Content  string // Markdown
	Revision int64  // 1, 2, 3 …; 0 where nothing was ever written
	Updated  time.Time
	By       Actor // empty KeyID: an agent, whose execution Name names
}

package hosttest

import (
	"context"

	"signoff/internal/domain"
)

// ToolOutput implements [domain.Host].
func (h *Host) ToolOutput(_ context.Context, toolCallID string) (string, error) {
	output, known := h.Outputs[toolCallID]
	if !known {
		return "", domain.Errorf(domain.CodeNotFound, "There is no such call in this execution.")
	}
	return output, nil
}

// Memory implements [domain.Host].
func (h *Host) Memory(_ context.Context, scope domain.MemoryScope) (domain.Memory, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.memoryLocked(scope), nil
}

// SaveMemory implements [domain.Host].
func (h *Host) SaveMemory(_ context.Context, scope domain.MemoryScope, revision int64, content string) (domain.Memory, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	memory := h.memoryLocked(scope)
	if memory.Revision != revision {
		return memory, domain.Errorf(domain.CodeConflict, "The notes have changed since they were read.")
	}
	memory.Content, memory.Revision = content, revision+1
	if h.saved == nil {
		h.saved = map[domain.MemoryScope]domain.Memory{}
	}
	h.saved[scope] = memory
	return memory, nil
}

func (h *Host) memoryLocked(scope domain.MemoryScope) domain.Memory {
	if memory, saved := h.saved[scope]; saved {
		return memory
	}
	if content, noted := h.Notes[scope]; noted {
		return domain.Memory{Scope: scope, Content: content, Revision: 1}
	}
	return domain.Memory{Scope: scope}
}

package llm

import (
	"strings"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// mostToolsets bounds what is kept: a request can enable whichever of the tools it likes.
const mostToolsets = 100

// toolsets keeps the toolsets of ordinary requests. There are few of them, and very many executions, each of which would hold
// its own for as long as a person thinks. Its methods may be called at once from several goroutines.
type toolsets struct {
	known *tools.Registry

	mu   sync.Mutex
	made map[string]*toolset // by the names of the tools
}

// of returns the tools that the request has.
func (s *toolsets) of(request domain.Request) (*toolset, error) {
	if !ordinary(request) {
		return newToolset(s.known, request)
	}
	names := s.granted(request)
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, there := s.made[names]; there {
		return made, nil
	}
	made, err := newToolset(s.known, request)
	if err == nil && len(s.made) < mostToolsets {
		s.made[names] = made
	}
	return made, err
}

// ordinary tells whether the request has tools of ours alone, as they are for everybody: which ones they are is then all that
// there is to know.
func ordinary(request domain.Request) bool {
	special := request.Kind == domain.KindAssistant || request.Kind == domain.KindGeneration
	return !special && len(request.ClientTools) == 0 && len(request.Runbook.BlockTypes) == 0
}

// granted is the names of the tools of ours that the request has.
func (s *toolsets) granted(request domain.Request) string {
	var names strings.Builder
	for _, definition := range s.known.Definitions() {
		if grants(request, definition) {
			names.WriteString(definition.Name)
			names.WriteByte(' ')
		}
	}
	return names.String()
}

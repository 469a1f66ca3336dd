package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// Session is the servers of one execution. Its methods may be called at once from several goroutines.
type Session struct {
	manager  *Manager
	use      Use
	links    []*link // sorted by name
	revision atomic.Uint64
	life     context.Context // ends with Close
	end      context.CancelFunc

	reporting sync.Mutex
	report    func(domain.AgentMCPServerUpdated)
}

// Tools returns the tools of all servers, in a steady order. What is known of a server from an earlier session is enough, so nothing is started for it;
// a required server is connected to. A server that cannot be used is reported and left out; where it is required, that is the error:
// [domain.CodeMCPServerUnavailable].
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	lists, failures := make([]definitions, len(s.links)), make([]error, len(s.links))
	var all sync.WaitGroup
	for i, l := range s.links {
		all.Go(func() { lists[i], failures[i] = l.offered(ctx) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var tools []Tool
	for i, l := range s.links {
		if failures[i] != nil && l.server.Required {
			return nil, failures[i]
		}
		tools = append(tools, lists[i].tools...)
	}
	return tools, nil
}

// Refresh reads the tools of a server from the connection that will run its next call, and connects where there is none. Where they differ from those that
// Tools has returned, Revision grows. The error is [domain.CodeMCPServerUnavailable], or why ctx has ended.
func (s *Session) Refresh(ctx context.Context, server string) error {
	l, err := s.link(server)
	if err != nil {
		return err
	}
	_, listed, err := l.asked(ctx)
	if err == nil {
		l.compare(listed)
	}
	return err
}

// Revision grows when [Session.Tools] may return something else than before.
func (s *Session) Revision() uint64 {
	now := time.Now()
	for _, l := range s.links {
		l.age(now)
	}
	return s.revision.Load()
}

// KeepsRunning reports whether a program runs whose memory the operator wants kept: the execution is not parked then.
func (s *Session) KeepsRunning() bool {
	return slices.ContainsFunc(s.links, func(l *link) bool { return l.server.KeepRunning && l.isRunning() })
}

// Earlier says that an earlier session of the execution has used these servers: the first program of one is a restarted one then.
func (s *Session) Earlier(names []string) {
	for _, l := range s.links {
		if slices.Contains(names, l.name) {
			l.usedBefore()
		}
	}
}

// Restarted returns the servers whose program has been started again since the last call, and has lost its memory. The names are sorted.
func (s *Session) Restarted() []string {
	var names []string
	for _, l := range s.links {
		if l.takeRestarted() {
			names = append(names, l.name)
		}
	}
	return names
}

// Close ends all connections and programs, and returns when nothing is left of them. Open calls fail, and no later one begins.
func (s *Session) Close() error {
	s.end()
	var all sync.WaitGroup
	for _, l := range s.links {
		all.Go(l.close)
	}
	all.Wait()
	return nil
}

func (s *Session) link(server string) (*link, error) {
	for _, l := range s.links {
		if l.name == server {
			return l, nil
		}
	}
	return nil, domain.Errorf(domain.CodeUnknownMCPServer, "The execution uses no MCP server %s.", wire.Quote(server))
}

func (s *Session) tell(update domain.AgentMCPServerUpdated) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	if s.report != nil {
		s.report(update)
	}
}

// unavailable is the error of a server that cannot be used.
func (s *Session) unavailable(server string, err error) *domain.Error {
	return domain.Errorf(domain.CodeMCPServerUnavailable, "The MCP server %q cannot be used: %s.", server, s.why(err)).With(err)
}

// why says in words without secrets what has failed. It ends a sentence. The text of an error without a code may hold anything.
func (s *Session) why(err error) string {
	var coded *domain.Error
	var failed *wire.Error
	text := "it cannot be reached"
	switch {
	case errors.As(err, &coded):
		text = coded.Message
	case errors.As(err, &failed):
		text = "it " + failed.Text
	case err != nil:
		text = plain(err)
	}
	return strings.TrimSuffix(wire.Line(s.manager.config.Mask(text), wire.MaxMessageBytes), ".")
}

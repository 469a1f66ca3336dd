package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"signoff/internal/domain"
)

// ways lists every kind in the order of preference, with the methods that do it, the better one first.
var ways = []struct {
	kind    Kind
	methods []method
}{
	{KindBubblewrap, []method{byBubblewrap}},
	{KindNamespaces, []method{byNamespaces}},
	{KindOff, []method{byPIDNamespace, bySubreaper}},
}

const (
	probeTimeout = 10 * time.Second

	// startLimit is how long a command may take from its supervisor's start until it runs. Only a machine that is badly
	// overloaded takes longer, and there the command is better tried again later.
	startLimit = time.Minute
)

// New tries the kinds that the mode allows until one works. A kind asked for by name that does not work is an error; auto always succeeds, and
// refuses every command where nothing works.
func New(ctx context.Context, config Config) (*Sandbox, error) {
	if config.Mode == "" {
		config.Mode = ModeAuto
	}
	s := &Sandbox{kind: KindNone, config: config, tools: findTools(), memory: usableMemory(), starts: make(starts, max(2, runtime.GOMAXPROCS(0)))}
	if err := s.settlePaths(); err != nil {
		return nil, err
	}
	var err error
	if s.lease, err = newLease(); err != nil {
		return nil, err
	}
	for i, found := range s.probeAll(ctx) {
		if found != nil {
			s.choose(ways[i].kind, *found)
		}
	}
	return s, s.verdict(ctx)
}

// finding is the result of trying a kind: the method that works and how, or why none does.
type finding struct {
	method method
	detail string
	err    error
}

// probeAll returns what was found of each kind, nil for those that need not be tried: each starts a command. Off is tried beside the
// others, because the processes of agents need it whatever the mode is.
func (s *Sandbox) probeAll(ctx context.Context) []*finding {
	all, off := make([]*finding, len(ways)), len(ways)-1
	var probing sync.WaitGroup
	probing.Go(func() {
		for i, way := range ways[:off] {
			taken := i > 0 && all[i-1] != nil && all[i-1].err == nil
			if s.config.Survey || s.config.Mode.wants(way.kind) && !taken {
				all[i] = s.probeOne(ctx, way.methods)
			}
		}
	})
	all[off] = s.probeOne(ctx, ways[off].methods)
	probing.Wait()
	return all
}

// probeOne runs a trivial command by each method until one works.
func (s *Sandbox) probeOne(ctx context.Context, methods []method) *finding {
	found := &finding{}
	for _, m := range methods {
		found.method = m
		if found.detail, found.err = s.probe(ctx, m); found.err == nil {
			return found
		}
	}
	return found
}

// choose takes the kind if it works, is wanted, and nothing better was found before.
func (s *Sandbox) choose(kind Kind, found finding) {
	if found.err != nil {
		s.reports = append(s.reports, Probe{Kind: kind, Detail: reason(found.err)})
		return
	}
	s.reports = append(s.reports, Probe{Kind: kind, Works: true, Detail: found.detail})
	if kind == KindOff {
		s.processes = found.method
	}
	if s.kind == KindNone && s.config.Mode.wants(kind) {
		s.kind, s.method = kind, found.method
	}
}

// settlePaths follows symlinks once, on the operator's word; later, inside a workspace, none is followed.
func (s *Sandbox) settlePaths() (err error) {
	for _, path := range s.config.ReadOnly {
		if _, err := os.Readlink(path); err == nil {
			s.config.links = append(s.config.links, path)
		}
	}
	if s.config.links, err = absolute(s.config.links); err != nil {
		return err
	}
	if s.config.Hidden, err = settled(s.config.Hidden); err != nil {
		return err
	}
	if s.config.Covered, err = settled(s.config.Covered); err != nil {
		return err
	}
	s.config.ReadOnly, err = settled(s.config.ReadOnly)
	return err
}

func settled(paths []string) ([]string, error) {
	real, err := absolute(paths)
	for i, path := range real {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			real[i] = resolved
		}
	}
	return real, err
}

// absolute resolves the folder that a path lies in, and not the path itself.
func absolute(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("sandbox: path to protect: %w", err)
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
		all = append(all, path)
	}
	return all, nil
}

// wants reports whether the operator allows the kind. Off is never taken by itself.
func (m Mode) wants(kind Kind) bool {
	if m == ModeAuto {
		return kind != KindOff
	}
	return string(m) == string(kind)
}

func (s *Sandbox) verdict(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch s.config.Mode {
	case ModeAuto:
		return nil
	case ModeBubblewrap, ModeNamespaces, ModeOff:
		if s.kind != KindNone {
			return nil
		}
		return domain.Errorf(domain.CodeSandboxUnavailable, "The sandbox %q does not work here. %s",
			s.config.Mode, s.detailOf(Kind(s.config.Mode)))
	default:
		return domain.Errorf(domain.CodeInvalid, "The sandbox is auto, bubblewrap, namespaces or off, not %q.", s.config.Mode)
	}
}

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
)

// Mode is what the operator asks for.
type Mode string

const (
	ModeAuto       Mode = "auto" // the best kind that works here
	ModeBubblewrap Mode = "bubblewrap"
	ModeNamespaces Mode = "namespaces"
	ModeOff        Mode = "off" // no walls; the supervisor still buries everything
)

// Kind is what isolates commands.
type Kind string

const (
	KindBubblewrap Kind = "bubblewrap"
	KindNamespaces Kind = "namespaces"
	KindOff        Kind = "off"
	KindNone       Kind = "none" // nothing works: every command is refused
)

// Config is what the operator decides.
type Config struct {
	Mode Mode

	// Hidden files and folders are covered inside a workspace that contains them: the server's own data, for one. What
	// lies outside of the workspace is out of sight anyway. Paths that do not exist are skipped.
	Hidden []string

	// ReadOnly files and folders keep their content inside a workspace that contains them: the server's configuration
	// names commands to run, so a command that could write it would run outside after the next start.
	ReadOnly []string

	// Network makes what carries a command's connections to the hosts that it is granted, or says what is wrong with them.
	// Where it is nil, such a command is refused.
	Network func(hosts []string) (Proxy, error)

	links []string // those of ReadOnly that were links when the sandbox was made
}

// Proxy carries the connections of one command, as package proxy does. That one is handed in: the stages of a command are
// this package, too, and with net and net/http among its imports each of them would take four times as long to begin.
type Proxy interface {
	// Start takes connections from the listening socket that comes over courier, until Close. It closes courier.
	Start(courier *os.File)
	// Close ends all connections. When it returns, nothing of the proxy runs.
	Close()
	// Traffic is a line about what was connected to and what was refused; empty where nothing was asked for.
	Traffic() string
}

// Sandbox runs commands and processes. Its methods may be called by any number of goroutines at once.
type Sandbox struct {
	kind      Kind
	method    method
	processes method // how a [Process] runs, whatever the kind
	config    Config
	tools     tools
	memory    uint64 // for the tree of one command
	lease     *lease
	starts    starts
	reports   []Probe

	startLimit time.Duration // 0 = [startLimit]
	spawned    func(pid int) // nil, but in tests: a supervisor is there and has no order yet
}

// Report tells what works on this machine, for people.
type Report struct {
	Active Kind
	Probes []Probe // in the order of preference
}

// Probe is what became of trying one kind.
type Probe struct {
	Kind   Kind
	Works  bool
	Detail string // one sentence: how it works, or why it does not
}

// method is how a kind is really done; off has two ways.
type method string

const (
	byBubblewrap   method = "bubblewrap"
	byNamespaces   method = "namespaces"
	byPIDNamespace method = "pidNamespace" // off: nothing but the PID namespace that lets nobody survive
	bySubreaper    method = "subreaper"    // off, where not even that can be had
)

// walled tells whether the method keeps a command inside its workspace.
func (m method) walled() bool { return m == byBubblewrap || m == byNamespaces }

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

// New tries out what works here. A kind asked for by name that does not work is an error; auto always succeeds, and
// refuses every command where nothing works.
func New(ctx context.Context, config Config) (*Sandbox, error) {
	if config.Mode == "" {
		config.Mode = ModeAuto
	}
	s := &Sandbox{kind: KindNone, config: config, tools: findTools(), memory: usableMemory(), starts: newStarts()}
	if err := s.settlePaths(); err != nil {
		return nil, err
	}
	var err error
	if s.lease, err = newLease(); err != nil {
		return nil, err
	}
	for i, found := range s.probeAll(ctx) {
		s.take(ways[i].kind, found)
	}
	return s, s.verdict(ctx)
}

// finding is what came of trying a kind: the method that works and how, or why none does.
type finding struct {
	method method
	detail string
	err    error
}

// probeAll tries all kinds at once: one after the other they are half of a start.
func (s *Sandbox) probeAll(ctx context.Context) []finding {
	all := make([]finding, len(ways))
	var probing sync.WaitGroup
	for i, way := range ways {
		probing.Go(func() { all[i] = s.probeOne(ctx, way.methods) })
	}
	probing.Wait()
	return all
}

// probeOne runs a trivial command by each method until one works.
func (s *Sandbox) probeOne(ctx context.Context, methods []method) (found finding) {
	for _, m := range methods {
		found.method = m
		if found.detail, found.err = s.probe(ctx, m); found.err == nil {
			return found
		}
	}
	return found
}

// take takes the kind if it works, is wanted, and nothing better was found before.
func (s *Sandbox) take(kind Kind, found finding) {
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

// wants tells whether the operator allows the kind. Off is never taken by itself.
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
			s.config.Mode, s.why(Kind(s.config.Mode)))
	default:
		return domain.Errorf(domain.CodeInvalid, "The sandbox is auto, bubblewrap, namespaces or off, not %q.", s.config.Mode)
	}
}

func (s *Sandbox) why(kind Kind) string {
	for _, probe := range s.reports {
		if probe.Kind == kind {
			return probe.Detail
		}
	}
	return ""
}

// reason makes one sentence of an error.
func reason(err error) string {
	text := err.Error()
	var e *domain.Error
	if errors.As(err, &e) {
		text = e.Message
		if e.Cause != nil {
			text = e.Cause.Error()
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimSuffix(text, ".") + "."
}

// Name is the kind in use.
func (s *Sandbox) Name() string { return string(s.kind) }

// Report tells what was found when the sandbox was made.
func (s *Sandbox) Report() Report { return Report{Active: s.kind, Probes: s.reports} }

// Trust says until when this server may have commands and processes run; the zero time, as in the beginning, is for
// ever. What still runs at that moment is killed by then and about a tenth of a second, also where this server stands
// still; from then on nothing starts, until Trust is called with a later one. That the moment was moved to an earlier one
// is seen within a second.
func (s *Sandbox) Trust(until time.Time) { s.lease.trust(until) }

// Run runs command and copies what it prints, stdout and stderr in their order, to output as it comes. It returns when
// the command and all its descendants are dead, which is at most about two seconds after command.Timeout or the end of
// ctx. The end of ctx is an error, its cause; the end of the timeout is a result with TimedOut set.
//
// The command's environment is PATH, HOME, TMPDIR, LANG and TERM of the sandbox's, and command.Env on top: an entry of it
// takes the place of the sandbox's own, PATH included, and of two entries with one name the later counts.
//
// A program that does not exist is a result with exit code 127, one that cannot be executed 126, and output says so,
// as a shell does it. Other errors than the end of ctx say what became of the command: [domain.CodeNotStarted] means for
// certain that nothing of it has run, so that it may be tried again, and [domain.CodeToolFailed] that it may have run in part.
//
// So many commands and processes start at once as there are processors; the others wait for that, and their time does not
// run meanwhile. A command that has not begun a minute after its turn came is given up.
//
// A Write that blocks does not hold up the killing. Where one is still blocked two seconds after, Run returns without
// it, and no other begins.
func (s *Sandbox) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if s.kind == KindNone {
		return domain.CommandResult{}, s.refusal()
	}
	if ctx.Err() != nil {
		return domain.CommandResult{}, context.Cause(ctx)
	}
	plan, err := s.plan(command)
	if err != nil {
		return domain.CommandResult{}, err
	}
	return plan.run(ctx, command.Timeout, output)
}

func (s *Sandbox) refusal() error {
	return domain.Errorf(domain.CodeSandboxUnavailable, "Commands are not run, because nothing here can confine them. "+
		"Install bubblewrap, or allow unprivileged user namespaces, or set SIGNOFF_SANDBOX=off to run them without "+
		"walls; `signoff doctor` shows what was tried.")
}

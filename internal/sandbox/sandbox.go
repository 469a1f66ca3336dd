package sandbox

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"signoff/internal/domain"
)

// Mode is the operator's choice.
type Mode string

const (
	ModeAuto       Mode = "auto" // the best kind that works here
	ModeBubblewrap Mode = "bubblewrap"
	ModeNamespaces Mode = "namespaces"
	ModeOff        Mode = "off" // no isolation; the supervisor still kills everything
)

// Kind names the isolation of commands.
type Kind string

const (
	KindBubblewrap Kind = "bubblewrap"
	KindNamespaces Kind = "namespaces"
	KindOff        Kind = "off"
	KindNone       Kind = "none" // nothing works: every command is refused
)

// Config is the operator's configuration.
type Config struct {
	Mode Mode

	// Survey tries all kinds, for the report. Without it, none is tried that the mode does not need.
	Survey bool

	// Hidden files and folders are covered inside a workspace that contains them, such as the server's data. Paths outside of the
	// workspace are out of sight anyway. Paths that do not exist are skipped.
	Hidden []string

	// ReadOnly files and folders keep their content inside a workspace that contains them: the server's configuration
	// names commands to run, so a command that could write it would run outside after the next start.
	ReadOnly []string

	// Covered files and folders are in no environment, outside of the workspace: the server's configuration, say.
	Covered []string

	// Lookup reads the server's own environment, of which commands on the host are given the variables that the operator names. nil: none.
	Lookup func(variable string) (value string, set bool)

	// Lend is given the content of each file that an environment lends, before a command or process gets it: its values have to be masked. An error
	// refuses the command. nil: nobody masks them.
	Lend func(path string, content []byte) error

	// Network makes the proxy for a command's connections to the granted hosts and networks, or returns the mistake in them. If it is
	// nil, a command with hosts is refused.
	Network func(Access) (Proxy, error)

	links []string // those of ReadOnly that were links when the sandbox was made
}

// Access is what a command reaches of the network.
type Access struct {
	Hosts    []string         // public ones
	Networks []domain.Network // private ones

	// Processes is the relay at which the proxy sends the list of the host's processes, as JSON of []HostProcess; empty: it does not.
	Processes string

	// Lasting says that this is for a process, which lives for hours. Its connections may be silent for longer than those of a command, and its
	// named hosts have an address of their own inside: older versions of Node know no proxy.
	Lasting bool

	// Serve takes the connections to its relays, in place of a connection elsewhere.
	Serve map[string]func(io.ReadWriteCloser)
}

// Proxy carries the connections of one command; package proxy implements it. This package does not import that one: it runs
// the stages of a command, too, and with net and net/http each stage would take four times as long to begin.
type Proxy interface {
	// Relays are hosts with their ports, host:port, that have an address of their own inside, for programs that know no proxy.
	Relays() []string
	// Start takes connections until Close. The listening sockets arrive over relay: the proxy's own, and then one for each of Relays.
	// It closes relay.
	Start(relay *os.File)
	// Close ends all connections. When it returns, nothing of the proxy runs.
	Close()
	// Traffic is a line about the connections and the refusals; empty without any.
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
	keys      keySearch // below what environments show

	startLimit time.Duration // 0 = [startLimit]
	spawned    func(pid int) // nil, but in tests: a supervisor is there and has no order yet
}

// Report lists the kinds that work on this machine, for people.
type Report struct {
	Active Kind
	Probes []Probe // in the order of preference
}

// Probe is the result of trying one kind.
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
	byPIDNamespace method = "pidNamespace" // off: only a PID namespace, whose end kills all processes
	bySubreaper    method = "subreaper"    // off, where not even that can be had
)

// isolates reports whether the method keeps a command inside its workspace.
func (m method) isolates() bool { return m == byBubblewrap || m == byNamespaces }

func (s *Sandbox) detailOf(kind Kind) string {
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

// Report returns the probes of [New]: of all kinds with [Config.Survey].
func (s *Sandbox) Report() Report { return Report{Active: s.kind, Probes: s.reports} }

// Trust sets the moment until which commands and processes of this server may run; the zero time, the default, is for
// ever. About a tenth of a second after that moment all of them are killed, even if this server is paused. Nothing starts
// until Trust is called with a later moment. An earlier moment takes effect within a second.
func (s *Sandbox) Trust(until time.Time) { s.lease.trust(until) }

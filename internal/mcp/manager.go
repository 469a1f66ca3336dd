package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/sync/singleflight"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// Credentials signs requests to servers with OAuth. All methods may be called at once from several goroutines.
type Credentials interface {
	// Handler returns what signs the requests to the server for the tenant; nil: the server has no OAuth. An error is a [*domain.Error].
	Handler(tenant domain.TenantID, name string, server Server) (auth.OAuthHandler, error)
}

// HTTPClient returns the client for everything that the server with a URL names, such as its authorization server; see [wire.NamedClient].
func HTTPClient(server Server) *http.Client { return wire.NamedClient(server.URL) }

// ManagerConfig is what a [Manager] works with.
type ManagerConfig struct {
	Catalog     *Catalog
	Programs    Programs            // nil: no program can be started
	Credentials Credentials         // nil: there is no OAuth
	Logger      *slog.Logger        // nil: nothing is logged
	Mask        func(string) string // hides secrets in what servers say of their failures; nil: nothing is hidden
	Version     string              // of Signoff, for the servers
}

// Manager knows the servers of this process: it opens sessions, and keeps what they have learned about the servers. Its methods may be called at once
// from several goroutines.
type Manager struct {
	config ManagerConfig

	probes    singleflight.Group // one at a time for each server and tenant
	rendering chan struct{}      // holds one for each prompt that is rendered

	mu    sync.Mutex
	known map[place]*knowledge
}

// place is a server as a tenant sees it: with the tenant's credentials, a server may offer other tools.
type place struct {
	tenant domain.TenantID
	server string
}

// knowledge is what the sessions of a tenant have learned about a server.
type knowledge struct {
	listed      bool
	definitions definitions
	version     string
	protocol    string
	connected   int
	failure     string // why it could not be used the last time; empty: it could
	failed      time.Time
	tried       bool
	probed      time.Time // when it was last asked by [Manager.Look]

	prompts        []Prompt // as they were listed then
	promptsFailure string   // why they could not be listed; empty: they could
}

// NewManager returns a manager. It starts nothing.
func NewManager(config ManagerConfig) *Manager {
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if config.Catalog == nil {
		config.Catalog = &Catalog{}
	}
	if config.Mask == nil {
		config.Mask = func(text string) string { return text }
	}
	return &Manager{config: config, rendering: make(chan struct{}, maxRendering), known: map[place]*knowledge{}}
}

// Open returns a session with the servers of these names. It starts none of them. report gets each change of a server's state, from one goroutine at a time.
func (m *Manager) Open(use Use, names []string, report func(domain.AgentMCPServerUpdated)) (*Session, error) {
	servers, err := m.config.Catalog.Choose(use.Tenant, names)
	if err != nil {
		return nil, err
	}
	session := &Session{manager: m, use: use, report: report}
	session.life, session.end = context.WithCancel(context.Background())
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		session.links = append(session.links, newLink(session, name, servers[name]))
	}
	return session, nil
}

// learn changes what is known about a server.
func (m *Manager) learn(at place, change func(*knowledge)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[at] == nil {
		m.known[at] = &knowledge{}
	}
	change(m.known[at])
}

// recall returns what is known about a server.
func (m *Manager) recall(at place) knowledge {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.known[at]; k != nil {
		return *k
	}
	return knowledge{}
}

// ServerState is how a server is doing.
type ServerState string

const (
	ServerUnused    ServerState = "unused"    // nobody has read its tools since this process began
	ServerAvailable ServerState = "available" // it could be used the last time
	ServerFailed    ServerState = "failed"    // it could not
)

// ServerStatus is what is known about a server.
type ServerStatus struct {
	Name        string
	Transport   string // stdio, http or sse
	Deprecated  bool   // the transport is: the specification has replaced it
	Required    bool   // this and the next three: see [Server]
	KeepRunning bool
	TrustHints  bool
	PinOff      bool

	Status    ServerState
	Version   string // as the server says; empty: it has not been connected to
	Protocol  string // revision of the protocol
	Connected int    // sessions that are connected to it now
	Tools     []Tool // as they were listed the last time
	LastError string
	Failed    time.Time // of LastError

	Prompts      []Prompt // as they were listed the last time that somebody looked at the server
	PromptsError string   // why they could not be listed
}

// Status returns what is known about the servers that the tenant may use, by their names.
func (m *Manager) Status(tenant domain.TenantID) []ServerStatus {
	var all []ServerStatus
	servers := m.config.Catalog.Of(tenant)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, m.status(tenant, name, servers[name]))
	}
	return all
}

func (m *Manager) status(tenant domain.TenantID, name string, server Server) ServerStatus {
	k := m.recall(place{tenant, name})
	status := ServerStatus{
		Name: name, Transport: transportOf(server), Deprecated: transportOf(server) == TransportSSE, Required: server.Required,
		KeepRunning: server.KeepRunning, TrustHints: server.TrustHints, PinOff: server.PinOff, Status: ServerUnused,
		Version: k.version, Protocol: k.protocol, Connected: k.connected, Tools: slices.Clone(k.definitions.tools), LastError: k.failure, Failed: k.failed,
		Prompts: slices.Clone(k.prompts), PromptsError: k.promptsFailure,
	}
	switch {
	case k.failure != "":
		status.Status = ServerFailed
	case k.listed:
		status.Status = ServerAvailable
	}
	return status
}

// TransportStdio is the transport of a program.
const TransportStdio = "stdio"

func transportOf(server Server) string {
	if server.URL == "" {
		return TransportStdio
	}
	return cmp.Or(server.Transport, TransportHTTP)
}

package oauth

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// Rows are where sign-ins are stored. A row is only ever written in the place of the one that was read.
type Rows interface {
	MCPCredentials(ctx context.Context, tenant domain.TenantID) ([]domain.MCPCredential, error)
	MCPCredentialsOf(ctx context.Context, tenant domain.TenantID, server string) ([]domain.MCPCredential, error)
	SaveMCPCredential(ctx context.Context, c domain.MCPCredential, record domain.AuditRecord) error
	DeleteMCPCredentials(ctx context.Context, tenant domain.TenantID, server string, record domain.AuditRecord) error
	ClaimMCPCredential(ctx context.Context, read domain.MCPCredential, by string, ttl time.Duration) (bool, error)
	ReleaseMCPCredential(ctx context.Context, read domain.MCPCredential, by string) error
	RenewMCPCredential(ctx context.Context, read domain.MCPCredential, sealed []byte) (bool, error)
	RefuseMCPCredential(ctx context.Context, read domain.MCPCredential, by string) error
}

// Config is what [Credentials] need.
type Config struct {
	Rows   Rows
	Keys   Keys
	HTTP   func(server mcp.Server) *http.Client       // for what a server names; it follows no redirect of a POST
	Lookup func(name string) (value string, set bool) // reads Signoff's own environment
	Learn  func(source string, values ...string)      // tells the masker
}

// Credentials give the connections to servers their tokens.
type Credentials struct {
	config  Config
	replica string // one run of this process

	lock    sync.Mutex
	grants  map[grantKey]*grant
	closed  bool
	running sync.WaitGroup // what asks authorization servers
}

// grantKey is what tokens are shared by: connections with the same key use the same ones.
type grantKey struct {
	tenant              domain.TenantID
	name, url, clientID string
	issuer              string
}

// NewCredentials returns credentials that know nothing yet.
func NewCredentials(config Config) *Credentials {
	return &Credentials{config: config, replica: rand.Text(), grants: map[grantKey]*grant{}}
}

// Close waits until no tokens are being renewed: those that an authorization server has just made would be lost with the process. Handlers get no tokens
// any more.
func (c *Credentials) Close() {
	c.lock.Lock()
	c.closed = true
	c.lock.Unlock()
	c.running.Wait()
}

// Handler returns what signs the requests to a server, for the executions of a tenant; nil where the server needs no sign-in.
func (c *Credentials) Handler(tenant domain.TenantID, name string, server mcp.Server) (auth.OAuthHandler, error) {
	switch {
	case server.OAuth == nil:
		return nil, nil //nolint:nilnil // that is what it says
	case server.OAuth.Grant == mcp.GrantClientCredentials:
		g := c.grant(tenant, name, server)
		return handler{g, service{g}}, nil
	case !c.config.Keys.Usable():
		return nil, unauthorized("MCP server %q wants a sign-in, and Signoff has no SIGNOFF_ENCRYPTION_KEY to read one with.", name)
	}
	g := c.grant(tenant, name, server)
	return handler{g, person{g}}, nil
}

func (c *Credentials) grant(tenant domain.TenantID, name string, server mcp.Server) *grant {
	key := grantKey{tenant, name, server.URL, server.OAuth.ClientID, server.OAuth.Issuer}
	c.lock.Lock()
	defer c.lock.Unlock()
	g := c.grants[key]
	if g == nil {
		g = &grant{all: c, tenant: tenant, name: name, server: server, turn: make(chan struct{}, 1)}
		c.grants[key] = g
	}
	return g
}

// begin counts one who may ask an authorization server; false: nobody may any more.
func (c *Credentials) begin() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.closed {
		c.running.Add(1)
	}
	return !c.closed
}

// learn tells the masker what is secret, before anything is done with it. Values of earlier times stay known.
func (c *Credentials) learn(tenant domain.TenantID, name string, t tokens) {
	if values := t.secrets(); len(values) > 0 {
		c.config.Learn("sign-in of "+string(tenant)+" at "+name, values...)
	}
}

package mcp

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// Back-off of a server that fails again and again.
const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	calmAfter    = time.Minute // a connection that has lived as long is no failure
)

// link is one server of a session. It connects at the first need and again after a loss.
type link struct {
	session *Session
	name    string
	server  Server

	connecting chan struct{} // held by whoever connects or closes; a channel, so that waiting for it can end

	mu         sync.Mutex
	connection *connection // nil: there has been none, or it is closed
	began      time.Time   // of connection
	lost       bool        // connection has been lost, and counted
	used       bool        // a program of an earlier time has served the execution
	restarted  bool        // a new one serves it since, and nobody has read that yet
	failures   int         // in a row
	retry      time.Time
	failure    error // the last one
	offer      definitions
	offering   bool // offer is what the session has been given
	outdated   bool // the server is to be asked again
}

func newLink(session *Session, name string, server Server) *link {
	return &link{session: session, name: name, server: server, connecting: make(chan struct{}, 1)}
}

func (l *link) place() place { return place{l.session.use.Tenant, l.name} }

// offered returns the tools that the session is given.
func (l *link) offered(ctx context.Context) (definitions, error) {
	if known := l.session.manager.recall(l.place()); known.listed && !l.mustAsk(known) {
		l.give(known.definitions)
		return known.definitions, nil
	}
	_, listed, err := l.asked(ctx)
	if err != nil {
		return definitions{}, err
	}
	l.give(listed)
	return listed, nil
}

// mustAsk reports whether what is known of the server is not enough.
func (l *link) mustAsk(known knowledge) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	isOld := !known.definitions.stale.IsZero() && !time.Now().Before(known.definitions.stale)
	return isOld || l.outdated || l.server.Required && l.connection == nil
}

// asked returns a live connection, with the tools of the server at this moment. A connection that turns out to be dead is made again, once: a list can
// be read twice without harm.
func (l *link) asked(ctx context.Context) (*connection, definitions, error) {
	for attempt := 1; ; attempt++ {
		c, err := l.connected(ctx)
		if err != nil {
			return nil, definitions{}, err
		}
		wasOutdated := l.setOutdated(false) // before it is asked: a notification that arrives meanwhile counts
		listed, err := c.list(ctx)
		if err != nil && wasOutdated {
			l.setOutdated(true)
		}
		switch {
		case err == nil:
			l.session.manager.learn(l.place(), func(k *knowledge) { k.listed, k.definitions, k.failure, k.tried = true, listed, "", true })
			return c, listed, nil
		case ctx.Err() != nil:
			return nil, definitions{}, context.Cause(ctx)
		case isLost(err):
			c.end(wire.ErrLost)
		}
		if attempt == 2 || c.isAlive() || errors.Is(err, wire.ErrTimeout) {
			failure := l.session.unavailable(l.name, err)
			l.fails(failure)
			return nil, definitions{}, failure
		}
	}
}

func (l *link) setOutdated(outdated bool) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, l.outdated = l.outdated, outdated
	return was
}

// give notes what the session is given.
func (l *link) give(listed definitions) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offer, l.offering = listed, true
}

// compare tells the session when the server has other tools than those that it was given.
func (l *link) compare(listed definitions) {
	l.mu.Lock()
	changed := l.offering && !l.offer.equal(listed)
	if changed {
		l.offering = false // until the session has asked for the new ones
	}
	l.mu.Unlock()
	if changed {
		l.session.revision.Add(1)
	}
}

// age lets the tools of a server grow old.
func (l *link) age(now time.Time) {
	l.mu.Lock()
	aged := l.offering && !l.offer.stale.IsZero() && !now.Before(l.offer.stale) && !l.outdated
	l.outdated = l.outdated || aged
	l.mu.Unlock()
	if aged {
		l.session.revision.Add(1)
	}
}

// changed notes that the server has said that its tools are others now.
func (l *link) changed() {
	if !l.setOutdated(true) { // a flood of notifications is one change
		l.session.revision.Add(1)
	}
}

// connected returns a live connection, and makes one where there is none. One caller connects; the others wait for it. After a failure it returns
// that failure until the time of the back-off is over.
func (l *link) connected(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.session.life, func() { cancel(wire.ErrClosed) })()
	select {
	case l.connecting <- struct{}{}:
		defer func() { <-l.connecting }()
	case <-ctx.Done():
		return nil, l.notWaited(ctx)
	}
	if ctx.Err() != nil {
		return nil, l.notWaited(ctx)
	}
	if c, err := l.ready(); c != nil || err != nil {
		return c, err
	}
	l.drop()
	c, err := l.dial(ctx)
	if err != nil {
		if ctx.Err() != nil { // whoever wanted it has gone; the server has done nothing wrong
			return nil, l.notWaited(ctx)
		}
		failure := l.session.unavailable(l.name, err)
		l.fails(failure)
		return nil, failure
	}
	l.begin(c)
	return c, nil
}

func (l *link) notWaited(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, wire.ErrClosed) {
		return cause
	}
	return domain.Errorf(domain.CodeMCPServerUnavailable, "The session with the MCP server %q is closed.", l.name)
}

// ready returns the live connection, or why none is to be made now; neither: one is to be made.
func (l *link) ready() (*connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noticeLoss()
	switch {
	case time.Now().Before(l.retry):
		return nil, cmp.Or(l.failure, error(domain.Errorf(domain.CodeMCPServerUnavailable, "The MCP server %q has ended too often; it is started again in %s.",
			l.name, time.Until(l.retry).Round(time.Second))))
	case l.connection != nil && l.connection.isAlive():
		return l.connection, nil
	}
	return nil, nil
}

// noticeLoss counts a connection that has been lost. The first loss after calm is free: the server is connected to again at once.
func (l *link) noticeLoss() {
	if l.connection == nil || l.connection.isAlive() || l.lost {
		return
	}
	l.lost = true
	if time.Since(l.began) >= calmAfter {
		l.failures = 0
	}
	if l.failures > 0 {
		l.retry = time.Now().Add(backoff(l.failures))
	}
	l.failures++
	l.failure = nil
}

func backoff(failures int) time.Duration {
	return min(firstBackoff<<min(failures-1, 10), maxBackoff)
}

// fails counts a server that cannot be used.
func (l *link) fails(failure *domain.Error) {
	l.mu.Lock()
	l.failures++
	l.failure, l.retry = failure, time.Now().Add(backoff(l.failures))
	l.mu.Unlock()
	l.session.manager.learn(l.place(), func(k *knowledge) {
		k.tried, k.failure, k.failed, k.protocol = true, failure.Message, time.Now(), ""
	})
	l.session.manager.config.Logger.Warn("an MCP server cannot be used", "server", l.name, "error", l.session.manager.config.Mask(failure.Error()))
	l.session.tell(domain.AgentMCPServerUpdated{Server: l.name, Status: domain.MCPServerFailed, Message: failure.Message})
}

// ended notes how the program has ended in the middle of its work.
func (l *link) ended(how string) {
	l.session.manager.learn(l.place(), func(k *knowledge) { k.failure, k.failed = how, time.Now() })
}

// drop closes what is left of a lost connection.
func (l *link) drop() {
	l.mu.Lock()
	c := l.connection
	l.connection = nil
	l.mu.Unlock()
	if c != nil {
		c.close()
		l.session.manager.learn(l.place(), func(k *knowledge) { k.connected-- })
	}
}

// headersOf returns the headers that the operator has configured for an address.
func headersOf(catalog *Catalog, name string, server Server) (map[string]string, error) {
	if server.URL == "" {
		return nil, nil
	}
	endpoints, err := catalog.Resolve(map[string]Server{name: server})
	if err != nil {
		return nil, err
	}
	return endpoints[0].Headers, nil
}

func (l *link) dial(ctx context.Context) (*connection, error) {
	config := l.session.manager.config
	headers, err := headersOf(config.Catalog, l.name, l.server)
	if err != nil {
		return nil, err
	}
	if l.server.URL == "" && config.Programs == nil {
		return nil, errors.New("mcp: no programs can be started")
	}
	known := l.session.manager.recall(l.place()).protocol
	if l.server.URL != "" || known >= revisionStateless {
		known = "" // only a program of an older revision may take it amiss to be asked
	}
	return dialling{
		name: l.name, server: l.server, use: l.session.use, programs: config.Programs, headers: headers, credentials: config.Credentials,
		version: cmp.Or(config.Version, "unknown"), revision: known, changed: l.changed,
	}.dial(ctx)
}

// begin takes a new connection into use. It may have other tools than the one before.
func (l *link) begin(c *connection) {
	l.mu.Lock()
	l.connection, l.began, l.lost = c, time.Now(), false
	again := l.used && c.program != nil
	l.restarted = l.restarted || again
	l.used = true
	news := again && !l.outdated
	l.outdated = l.outdated || again
	l.mu.Unlock()
	l.session.manager.learn(l.place(), func(k *knowledge) {
		k.connected++
		k.tried, k.failure, k.version, k.protocol = true, "", c.version(), c.revision()
	})
	if news {
		l.session.revision.Add(1)
	}
	l.session.tell(domain.AgentMCPServerUpdated{Server: l.name, Status: domain.MCPServerStarted})
}

// works notes that the server has done something: its failures are forgotten.
func (l *link) works() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = 0
}

func (l *link) isRunning() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.connection != nil && l.connection.program != nil && l.connection.isAlive()
}

func (l *link) usedBefore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = true
}

func (l *link) takeRestarted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	restarted := l.restarted
	l.restarted = false
	return restarted
}

// close ends the connection. The life of the session is over: whoever is connecting gives up.
func (l *link) close() {
	l.mu.Lock()
	c := l.connection
	l.mu.Unlock()
	if c != nil {
		c.end(wire.ErrClosed)
	}
	l.connecting <- struct{}{}
	defer func() { <-l.connecting }()
	l.drop()
}

package mcp

import (
	"context"
	"time"

	"signoff/internal/domain"
)

const (
	probeHolds    = time.Minute      // a page that is loaded again and again must not start a program each time
	probePatience = 10 * time.Second // of somebody who looks at a server
)

// Look returns what is known of a server; false: the tenant has none of this name. With prepare, the server is asked for its tools, in a session of its
// own that ends with the question, unless it was asked a minute ago. Look waits for the answer ten seconds at most; the question goes on for the next
// one who looks. prepare makes the use of the session, and cleanup removes it.
func (m *Manager) Look(ctx context.Context, tenant domain.TenantID, name string, prepare func() (use Use, cleanup func(), err error)) (ServerStatus, bool) {
	server, known := m.config.Catalog.Of(tenant)[name]
	if !known {
		return ServerStatus{}, false
	}
	at := place{tenant, name}
	if prepare != nil && time.Since(m.recall(at).probed) >= probeHolds {
		asked := m.probes.DoChan(string(tenant)+"\x00"+name, func() (any, error) {
			m.probe(at, prepare)
			return nil, nil
		})
		ctx, cancel := context.WithTimeout(ctx, probePatience)
		defer cancel()
		select {
		case <-asked:
		case <-ctx.Done():
		}
	}
	return m.status(tenant, name, server), true
}

// probe asks a server for its tools. What comes of it is what [Manager.Status] shows. It ends by the time-outs of the server.
func (m *Manager) probe(at place, prepare func() (Use, func(), error)) {
	fail := func(err error) {
		m.learn(at, func(k *knowledge) {
			k.tried, k.failure, k.failed = true, domain.FailureOf(err).Message, time.Now()
		})
	}
	defer m.learn(at, func(k *knowledge) { k.probed = time.Now() })
	use, cleanup, err := prepare()
	if err != nil {
		fail(err)
		return
	}
	defer cleanup()
	use.Tenant = at.tenant
	session, err := m.Open(use, []string{at.server}, nil)
	if err != nil {
		fail(err)
		return
	}
	defer session.Close()
	_, _, _ = session.links[0].asked(session.life) // the link notes its success or its failure
}

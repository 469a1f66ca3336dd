package mcp

import (
	"context"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

const probeHolds = time.Minute // a page that is loaded again and again must not start a program each time

// Prepare makes the use of a session that no execution has. cleanup removes what it has made.
type Prepare func() (use Use, cleanup func(), err error)

// Look returns what is known of a server; false: the tenant has none of this name. With prepare, the server is asked for its tools and prompts, in a session of
// its own that ends with the question, unless it was asked a minute ago. Look waits for the answer as long as ctx lives; the question goes on for the next
// one who looks.
func (m *Manager) Look(ctx context.Context, tenant domain.TenantID, name string, prepare Prepare) (ServerStatus, bool) {
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
		select {
		case <-asked:
		case <-ctx.Done():
		}
	}
	return m.status(tenant, name, server), true
}

// probe asks a server for its tools and prompts. What comes of it is what [Manager.Status] shows. It ends by the time-outs of the server.
func (m *Manager) probe(at place, prepare Prepare) {
	defer m.learn(at, func(k *knowledge) { k.probed = time.Now() })
	session, leave, err := m.alone(at, prepare)
	if err != nil {
		m.learn(at, func(k *knowledge) {
			k.tried, k.failure, k.failed = true, domain.FailureOf(err).Message, time.Now()
		})
		return
	}
	defer leave()
	if _, _, err := session.links[0].asked(session.life); err != nil {
		return // the link has noted it
	}
	ctx, cancel := context.WithTimeoutCause(session.life, startTimeout(session.links[0].server), wire.ErrTimeout)
	defer cancel()
	prompts, err := session.Prompts(ctx, at.server)
	m.learn(at, func(k *knowledge) {
		k.prompts, k.promptsFailure = prompts, ""
		if err != nil {
			k.prompts, k.promptsFailure = nil, domain.FailureOf(session.notRendered(at.server, err)).Message
		}
	})
}

// alone opens a session with one server, which no execution has. leave ends it.
func (m *Manager) alone(at place, prepare Prepare) (session *Session, leave func(), err error) {
	use, cleanup, err := prepare()
	if err != nil {
		return nil, nil, err
	}
	use.Tenant = at.tenant
	session, err = m.Open(use, []string{at.server}, nil)
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	return session, func() { session.Close(); cleanup() }, nil
}

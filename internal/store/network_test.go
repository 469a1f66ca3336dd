package store_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// A commit whose answer is lost has an unknown result, and is never simply tried again: it may have happened.
func TestLostAnswerToACommit(t *testing.T) {
	for name, c := range map[string]struct {
		change store.Change
		cut    cut
		want   int
	}{
		"after the server got it":             {says("x", 0, 2), cut{on: prepared("commit"), forward: true}, 3},
		"before the server got it":            {says("x", 0, 2), cut{on: prepared("commit")}, 1},
		"after the server got the statement":  {says("x", 1, 2), cut{on: "some text of a model", forward: true}, 3},
		"before the server got the statement": {says("x", 1, 2), cut{on: "some text of a model"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, proxy := proxied(t, store.Config{})
			create(t, s, "x") // and the commit is prepared
			commit(t, s, says("x", 1, 1))
			proxy.arm(c.cut)
			_, err := s.Commit(t.Context(), []store.Change{c.change})
			if !errors.Is(err, store.ErrCommitUnknown) || domain.CodeOf(err) != domain.CodeStorage {
				t.Fatalf("%v", err)
			}
			if got := len(storetest.Log(t, s, "x")); got != c.want {
				t.Fatalf("%d events, want %d", got, c.want)
			}
			commit(t, s, says("x", 1, 1)) // and it goes on
		})
	}
}

// A connection that breaks before the commit has written nothing, so Commit tries again by itself.
func TestLostConnectionIsTriedAgain(t *testing.T) {
	audited := says("x", 1, 2)
	audited.Audit = []domain.AuditRecord{{Action: "a"}}
	for name, c := range map[string]struct {
		change store.Change
		fresh  bool // the connection is, so what is sent first is the text of the statements
		on     string
	}{
		"the begin is prepared":       {says("x", 0, 2), true, "begin"},
		"the head is prepared":        {says("x", 0, 2), true, "update execution_heads"},
		"the rest is prepared":        {says("x", 0, 2), true, "insert into events"},
		"the begin":                   {says("x", 0, 2), false, prepared("begin")},
		"what is gathered on the way": {audited, false, "some text of a model"},
	} {
		t.Run(name, func(t *testing.T) {
			s, proxy := proxied(t, store.Config{})
			create(t, s, "x")
			first := c.change
			first.Events = first.Events[:1]
			commit(t, s, first) // and the statements are prepared: their text is sent once
			if c.fresh {
				proxy.drop()
			}
			proxy.arm(cut{on: c.on})
			commit(t, s, c.change)
			if !proxy.fired() {
				t.Fatal("nothing was cut")
			}
			if got := len(storetest.Log(t, s, "x")); got != 3 {
				t.Errorf("%d events", got)
			}
		})
	}
}

// prepared is how a statement is called on the way to the server once it has been prepared.
func prepared(statement string) string {
	digest := sha256.Sum256([]byte(statement))
	return "stmtcache_" + hex.EncodeToString(digest[:24]) + "\x00"
}

// A plain batch is sent without a begin that would find out. The server has ended its connections meanwhile, as in a restart.
func TestPlainBatchOverLostConnections(t *testing.T) {
	s, proxy := proxied(t, store.Config{})
	create(t, s, "x")
	for range 20 {
		commit(t, s, says("x", 1, 1))
		proxy.drop()
	}
	if got := len(storetest.Log(t, s, "x")); got != 20 {
		t.Errorf("%d events", got)
	}
}

// The server ends all connections again and again, wherever they are. What was acknowledged is there; what was not is
// there only where the result was unknown; and the logs have no hole.
func TestTerminatedConnections(t *testing.T) {
	address := storetest.Postgres(t)
	s := storetest.Open(t, store.Config{DatabaseURL: address, MaxConns: 8})
	const writers = 6
	ids := []domain.ExecutionID{"a", "b", "c"}
	for _, id := range ids {
		create(t, s, id)
	}
	over := terminateConnections(t, address)
	var accepted, unknown, failed atomic.Int64
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end) || accepted.Load() == 0; {
				results, err := s.Commit(context.Background(), []store.Change{says(ids[i%3], 1, 1), says(ids[(i+1)%3], 1, 1)})
				switch {
				case errors.Is(err, store.ErrCommitUnknown):
					unknown.Add(2)
				case err != nil:
					failed.Add(2)
				case results[0].Err != nil || results[1].Err != nil:
					t.Error(results)
				default:
					accepted.Add(2)
				}
			}
		})
	}
	group.Wait()
	kills := over()
	stored := int64(0)
	for _, id := range ids {
		stored += int64(len(storetest.Log(t, s, id)))
	}
	t.Logf("%d connections ended; %d events accepted, %d unknown, %d failed, %d stored", kills, accepted.Load(), unknown.Load(), failed.Load(), stored)
	if stored < accepted.Load() || stored > accepted.Load()+unknown.Load() || accepted.Load() == 0 || kills == 0 {
		t.Error("these do not fit together")
	}
}

// terminateConnections begins to end all connections to a database, and returns what stops that and counts. It takes
// more and more time in between: on a busy machine a connection would otherwise never live to see a commit.
func terminateConnections(t *testing.T, address string) (over func() (kills int)) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped, kills := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(stopped)
		defer func() { _ = conn.Close(ctx) }()
		for pause := 30 * time.Millisecond; ; pause += pause / 10 {
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
			tag, err := conn.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
				where datname = current_database() and pid <> pg_backend_pid()`)
			if err != nil {
				t.Error(err)
			}
			kills += int(tag.RowsAffected())
		}
	}()
	return func() int {
		close(stop)
		<-stopped
		return kills
	}
}

func TestServerThatIsGone(t *testing.T) {
	s, proxy := proxied(t, store.Config{})
	create(t, s, "x")
	proxy.close()
	_, err := s.Commit(t.Context(), []store.Change{says("x", 1, 1)})
	if domain.CodeOf(err) != domain.CodeStorage || errors.Is(err, store.ErrCommitUnknown) {
		t.Errorf("%v", err)
	}
}

// A server that starts while its database is away waits for it: it would not come back by itself.
func TestOpenWaitsForAPostgres(t *testing.T) {
	for name, away := range map[string]func(*proxy) *atomic.Bool{
		"that refuses connections": func(p *proxy) *atomic.Bool { return &p.refusing },
		"that is frozen":           func(p *proxy) *atomic.Bool { return &p.mute },
	} {
		t.Run(name, func(t *testing.T) {
			config, proxy := throughProxy(t, store.Config{ConnTimeout: 500 * time.Millisecond})
			away(proxy).Store(true)
			if s, err := store.Open(t.Context(), config); err == nil {
				_ = s.Close()
				t.Error("a command that has no patience opened it")
			}
			time.AfterFunc(2*config.ConnTimeout, func() { away(proxy).Store(false) })
			config.Patience = time.Minute
			s, err := store.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		})
	}
}

// A connection that breaks under a migration costs no start.
func TestMigrateTriesALostConnectionAgain(t *testing.T) {
	for _, on := range []string{
		"from schema_migrations", "pg_advisory_lock", "create table if not exists schema_migrations", "insert into schema_migrations", "create table executions",
	} {
		t.Run(on, func(t *testing.T) {
			config, proxy := throughProxy(t, store.Config{})
			s, err := store.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			proxy.arm(cut{on: on})
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !proxy.fired() {
				t.Fatal("nothing was cut")
			}
			if err := s.CheckSchema(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// proxied is a store whose connections pass a proxy that can cut them, or swallow what the client sends.
func proxied(t *testing.T, config store.Config) (*store.Store, *proxy) {
	t.Helper()
	config, p := throughProxy(t, config)
	return storetest.Open(t, config), p
}

// throughProxy has the connections to a fresh database pass a proxy.
func throughProxy(t *testing.T, config store.Config) (store.Config, *proxy) {
	t.Helper()
	target, err := url.Parse(storetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	p := newProxy(t, target.Host)
	target.Host = p.listener.Addr().String()
	config.DatabaseURL, config.MaxConns = target.String(), 2
	return config, p
}

// cut says when a connection is to be cut: when the client sends a message with a text in it.
type cut struct {
	on      string
	forward bool // the server does what the message says, and only its answer is lost
}

type proxy struct {
	listener net.Listener
	target   string
	armed    atomic.Pointer[cut]
	mute     atomic.Bool
	refusing atomic.Bool  // it ends new connections
	trips    atomic.Int64 // how often a client sent something, and then read the answer

	mu    sync.Mutex
	conns []net.Conn
	done  sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		p.close()
		p.done.Wait()
	})
	return p
}

func (p *proxy) arm(c cut)   { p.armed.Store(&c) }
func (p *proxy) fired() bool { return p.armed.Load() == nil }

// swallow keeps all connections open and lets nothing of the client through from now on.
func (p *proxy) swallow() { p.mute.Store(true) }

// drop ends the connections that there are.
func (p *proxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.drop()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		if p.refusing.Load() {
			_ = client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		link := &link{client: client, server: server, ended: make(chan struct{})}
		p.done.Go(func() { p.forward(link) })
		p.done.Go(func() {
			_, _ = io.Copy(answers{link}, server)
			close(link.ended)
			_ = client.Close()
		})
	}
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	asked          atomic.Bool   // the client waits for an answer
	withheld       atomic.Bool   // the client gets no more answers
	ended          chan struct{} // closed when the server has ended its side
}

// answers passes the answers of the server on to the client.
type answers struct{ *link }

func (a answers) Write(answer []byte) (int, error) {
	a.asked.Store(false)
	if a.withheld.Load() {
		return len(answer), nil
	}
	return a.client.Write(answer)
}

// syncMessage ends what a client sends before it waits for the answer.
var syncMessage = []byte("S\x00\x00\x00\x04")

// forward passes on what the client sends, until the link is cut.
//
// A cut that loses only the answer waits for the server to end its side, which it does after the statement, and only then closes
// the client's. The driver asks the server to cancel a statement whose connection breaks, over another connection: a client that is
// closed earlier cancels the commit about once in twenty times.
func (p *proxy) forward(l *link) {
	client, server := l.client, l.server
	defer func() { _ = server.Close() }()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if c := p.armed.Load(); c != nil && bytes.Contains(buffer[:n], []byte(c.on)) && p.armed.CompareAndSwap(c, nil) {
			if c.forward {
				for !bytes.HasSuffix(buffer[:n], syncMessage) && err == nil {
					var more int
					more, err = client.Read(buffer[n:])
					n += more
				}
				l.withheld.Store(true)
				_, _ = server.Write(buffer[:n])
				_ = server.(*net.TCPConn).CloseWrite()
				<-l.ended
			}
			_ = client.Close()
			return
		}
		if err != nil {
			return
		}
		if p.mute.Load() {
			continue
		}
		if ping := bytes.Contains(buffer[:n], []byte("-- ping")); !l.asked.Swap(true) && !ping { // the pool pings what was idle for long
			p.trips.Add(1)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// silent is the address of a server that accepts and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

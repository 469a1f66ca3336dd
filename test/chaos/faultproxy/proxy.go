package faultproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to one address.
type Proxy struct {
	control

	listener net.Listener
	target   string
	pumps    sync.WaitGroup

	closed bool
	links  map[*link]struct{}
}

// New listens on a port of its own. Links whose clients send the text of mark are marked; an empty one marks none.
func New(target, mark string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{control: control{mark: []byte(mark), changed: make(chan struct{})}, listener: listener, target: target, links: map[*link]struct{}{}}
	p.pumps.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close resets all links and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Heal()
	p.Reset()
	p.pumps.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.pumps.Go(func() { p.join(client.(*net.TCPConn)) })
	}
}

// join makes a link of a client's connection. If the server does not listen, the client gets a reset.
func (p *Proxy) join(client *net.TCPConn) {
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	l := &link{control: &p.control, client: client, server: server.(*net.TCPConn), gone: make(chan struct{})}
	p.mu.Lock()
	closed := p.closed
	p.links[l] = struct{}{}
	p.mu.Unlock()
	if closed {
		l.reset()
	}
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// Delay has every piece wait.
func (p *Proxy) Delay(by time.Duration) { p.change(func(o *orders) { o.delay = by }) }

// Swallow makes a black hole of a direction, or of both.
func (p *Proxy) Swallow(way Direction) { p.change(func(o *orders) { o.swallow = way }) }

// SwallowMarked makes a black hole of the marked links alone, in both directions.
func (p *Proxy) SwallowMarked() { p.change(func(o *orders) { o.swallowMarked = true }) }

// Hold keeps what comes until the proxy is healed.
func (p *Proxy) Hold(way Direction) { p.change(func(o *orders) { o.hold = way }) }

// CutOn resets the first link whose client sends this text; with forward, the server gets it before.
func (p *Proxy) CutOn(text string, forward bool) {
	p.change(func(o *orders) { o.cut = &cut{on: []byte(text), forward: forward, way: ToServer} })
}

// CutAfter resets a link when so many more bytes have gone that way, over all links together.
func (p *Proxy) CutAfter(bytes int64, way Direction) {
	p.change(func(o *orders) { o.cut = &cut{left: bytes, way: way} })
}

// Heal takes all orders back. Links that have lost bytes are reset.
func (p *Proxy) Heal() {
	p.change(func(o *orders) { *o = orders{} })
	for _, l := range p.all() {
		if l.hasLost() {
			l.reset()
		}
	}
}

// Reset breaks all links, so that both ends notice at once.
func (p *Proxy) Reset() {
	for _, l := range p.all() {
		l.reset()
	}
}

// HalfClose ends one direction of all links: one end sends nothing more, and may still receive.
func (p *Proxy) HalfClose(way Direction) {
	for _, l := range p.all() {
		if way&ToServer != 0 {
			_ = l.server.CloseWrite()
		}
		if way&ToClient != 0 {
			_ = l.client.CloseWrite()
		}
	}
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*link, 0, len(p.links))
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

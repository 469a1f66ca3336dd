package proxy

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

// Proxy carries the connections of one command to the hosts that it was granted. It lives in the server, and its
// listener in the command's network, where there is nothing else: so all that leaves has passed here.
//
// It speaks to hostile programs. Each connection carries one request, is given up when it stands still, and none of them
// costs more than its buffers. Nothing is interpreted that need not be: a tunnel is bytes, and so is every answer, a
// redirect included, which leads the program back here.
type Proxy struct {
	dialer  egress.Dialer
	idle    time.Duration
	relays  []string                  // host:port
	served  map[string]func(net.Conn) // relay → who takes its connections
	traffic traffic
	over    context.Context //nolint:containedctx // it is the proxy's own life, and ends every connection
	end     context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
}

const (
	maxConnections = 64               // at a time; further ones wait
	headTimeout    = 10 * time.Second // for the whole head of a request
	idleTimeout    = 2 * time.Minute  // for the next byte, in whichever direction
	maxHead        = 32 << 10

	lastingIdleTimeout = 15 * time.Minute // of a process: a model may think for long before its first word

	maxLinger = 256 << 10 // of a refused request that is still read, so that the refusal arrives
)

// Open makes a proxy to the hosts that the dialer names. It refuses patterns that would cover nothing: a command without the
// network that it was granted fails in ways that nobody can read the reason from.
func Open(dialer egress.Dialer) (*Proxy, error) {
	for _, pattern := range dialer.Hosts {
		if !egress.Pattern(pattern) {
			return nil, domain.Errorf(domain.CodeInvalidArguments,
				"%q is not a host that a command can be granted: a name, an address, *.name, or * for every public host.", pattern)
		}
	}
	p := &Proxy{
		dialer: dialer, idle: idleTimeout, relays: relaysTo(dialer.Networks), served: map[string]func(net.Conn){}, slots: make(chan struct{}, maxConnections),
	}
	p.over, p.end = context.WithCancel(context.Background())
	return p, nil
}

// Traffic is a line about the connections and the refusals; empty without any.
func (p *Proxy) Traffic() string { return p.traffic.String() }

// Close ends all connections. When it returns, nothing of the proxy runs.
func (p *Proxy) Close() {
	p.end()
	p.running.Wait()
}

// Relays are the hosts of networks that are names: an address has no place in a list of names, and a pattern no address.
func (p *Proxy) Relays() []string { return p.relays }

func relaysTo(networks []domain.Network) []string {
	var relays []string
	for _, network := range networks {
		for _, host := range network.Hosts {
			if strings.HasPrefix(host, "*") || net.ParseIP(host) != nil {
				continue
			}
			for _, port := range network.Ports {
				relays = append(relays, net.JoinHostPort(host, strconv.Itoa(int(port))))
			}
		}
	}
	slices.Sort(relays)
	return slices.Compact(relays)
}

// Serve has connections to a relay taken by serve, which may keep them for as long as it likes. The proxy closes them. Serve is called before Start.
func (p *Proxy) Serve(relay string, serve func(net.Conn)) {
	p.relays = append(p.relays, relay)
	p.served[relay] = serve
}

// Last prepares the proxy for a process that lives for hours: connections may be silent for longer, and each of the dialer's hosts that is
// a name gets relays at the ports of the web. It is called before Start.
func (p *Proxy) Last() {
	p.idle = lastingIdleTimeout
	web := domain.Network{Hosts: p.dialer.Hosts, Ports: []uint16{80, 443}}
	p.relays = slices.Compact(slices.Sorted(slices.Values(append(p.relays, relaysTo([]domain.Network{web})...))))
}

// serve takes connections until the proxy is closed. A listener that fails is closed, which the command sees as a refusal.
func (p *Proxy) serve(listener net.Listener, serveConn func(net.Conn)) {
	defer p.closing(listener)()
	for {
		select {
		case p.slots <- struct{}{}:
		case <-p.over.Done():
			return
		}
		client, err := listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() {
			defer func() { <-p.slots }()
			serveConn(client)
		})
	}
}

// closing closes c with the proxy, or when its result is called.
func (p *Proxy) closing(c io.Closer) func() {
	stop := context.AfterFunc(p.over, func() { c.Close() })
	return func() {
		stop()
		c.Close()
	}
}

// serveConn serves the one request of a connection.
func (p *Proxy) serveConn(client net.Conn) {
	client = p.lively(client)
	defer p.closing(client)()
	request, body, err := readHead(client)
	if err != nil {
		refuse(client, http.StatusBadRequest, "This is not a request that a proxy can read.")
		return
	}
	upstream, err := p.dial(request)
	if err != nil {
		refuse(client, statusOf(err), domain.FailureOf(err).Message)
		return
	}
	defer p.closing(upstream)()
	if request.Method == http.MethodConnect {
		tunnel(client, body, upstream)
	} else {
		forward(client, request, upstream)
	}
}

// relayTo carries connections to one host, whatever they say.
func (p *Proxy) relayTo(address string) func(net.Conn) {
	return func(client net.Conn) {
		defer p.closing(client)()
		if serve := p.served[address]; serve != nil {
			serve(client)
			return
		}
		client = p.lively(client)
		upstream, err := p.dialer.DialContext(p.over, "tcp", address)
		p.traffic.note(address, err)
		if err != nil {
			return // the program sees a connection that ends; the last line of the output says more
		}
		upstream = p.lively(upstream)
		defer p.closing(upstream)()
		carry(client, client, upstream)
	}
}

// readHead reads no more than a head may have, and not for longer than it may take. What follows comes from the reader.
func readHead(client net.Conn) (*http.Request, *bufio.Reader, error) {
	late := time.AfterFunc(headTimeout, func() { client.Close() })
	defer late.Stop()
	head := &io.LimitedReader{R: client, N: maxHead}
	reader := bufio.NewReader(head)
	request, err := http.ReadRequest(reader)
	head.N = math.MaxInt64
	return request, reader, err
}

// lively gives a connection up that stands still.
func (p *Proxy) lively(connection net.Conn) net.Conn {
	return &idleConn{Conn: connection, timeout: p.idle}
}

func (p *Proxy) dial(request *http.Request) (net.Conn, error) {
	address, err := destination(request)
	if err != nil {
		return nil, err
	}
	upstream, err := p.dialer.DialContext(p.over, "tcp", address)
	p.traffic.note(address, err)
	if err != nil {
		return nil, unreachable(address, err)
	}
	return p.lively(upstream), nil
}

// destination is taken from where the request says that it goes, never from its Host header, which could say otherwise.
func destination(request *http.Request) (string, error) {
	url := request.URL
	switch {
	case request.Method == http.MethodConnect:
		return request.RequestURI, nil // as it is: the dialer refuses a bad one
	case url.Scheme != "http" || url.Host == "":
		return "", domain.Errorf(domain.CodeMalformed, "This proxy takes CONNECT, and requests for http:// addresses.")
	case url.User != nil:
		return "", domain.Errorf(domain.CodeDestinationBlocked, "A name or password before the host is not taken.")
	}
	return net.JoinHostPort(url.Hostname(), cmp.Or(url.Port(), "80")), nil
}

// unreachable is the error for a program. The text of a failed connection names our resolvers and addresses.
func unreachable(address string, err error) error {
	var known *domain.Error
	var lookup *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &lookup):
		return domain.Errorf(domain.CodeUnavailable, "The host of %s has no address.", address).With(err)
	}
	return domain.Errorf(domain.CodeUnavailable, "%s does not answer.", address).With(err)
}

func statusOf(err error) int {
	switch domain.CodeOf(err) {
	case domain.CodeDestinationBlocked:
		return http.StatusForbidden
	case domain.CodeMalformed:
		return http.StatusBadRequest
	default:
		return http.StatusBadGateway
	}
}

// refuse answers with a sentence. What the client still sends is read for a moment: closing a connection with unread
// bytes resets it, and the sentence would be lost.
func refuse(client net.Conn, status int, sentence string) {
	if status == http.StatusForbidden {
		sentence = string(domain.CodeDestinationBlocked) + ": " + sentence
	}
	answer := http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(sentence)) + 1,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader(sentence + "\n")),
	}
	if answer.Write(client) != nil {
		return
	}
	closeWrite(client)
	late := time.AfterFunc(time.Second, func() { client.Close() })
	defer late.Stop()
	_, _ = io.CopyN(io.Discard, client, maxLinger)
}

// tunnel carries bytes both ways until both sides have said all, or one of them is gone.
func tunnel(client net.Conn, early io.Reader, upstream net.Conn) {
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	carry(client, early, upstream)
}

// carry copies bytes both ways. What the client sends comes from sent.
func carry(client net.Conn, sent io.Reader, upstream net.Conn) {
	half := func(to net.Conn, from io.Reader) {
		if _, err := io.Copy(to, from); err != nil {
			client.Close()
			upstream.Close()
		}
		closeWrite(to)
	}
	var upload sync.WaitGroup
	upload.Go(func() { half(upstream, sent) })
	half(client, upstream)
	upload.Wait()
}

// forward sends one request on, and carries the answer back as it comes.
func forward(client net.Conn, request *http.Request, upstream net.Conn) {
	strip(request)
	if request.Header.Get("Expect") != "" { // the body is wanted in any case, so nobody need wait for the other side's word
		request.Header.Del("Expect")
		_, _ = io.WriteString(client, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	var upload sync.WaitGroup
	upload.Go(func() {
		if request.Write(upstream) != nil {
			upstream.Close()
		}
	})
	_, _ = io.Copy(client, upstream)
	client.Close()
	upstream.Close()
	upload.Wait()
}

// strip removes what concerns this connection alone. The other side is asked to close after its answer: what comes next
// on this connection has not been judged.
func strip(request *http.Request) {
	for _, listed := range request.Header.Values("Connection") {
		for name := range strings.SplitSeq(listed, ",") {
			request.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Upgrade"} {
		request.Header.Del(name)
	}
	request.Close = true
}

func closeWrite(connection net.Conn) {
	if p, isPatient := connection.(*idleConn); isPatient {
		connection = p.Conn
	}
	if half, can := connection.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite()
	}
}

// idleConn is a connection that is given up when it stands still. A byte in either direction is a sign of life: a download
// says nothing upwards for as long as it takes.
type idleConn struct {
	net.Conn
	timeout time.Duration
}

func (p *idleConn) Read(buffer []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.timeout))
	return p.Conn.Read(buffer)
}

func (p *idleConn) Write(chunk []byte) (int, error) {
	_ = p.SetDeadline(time.Now().Add(p.timeout))
	return p.Conn.Write(chunk)
}

// traffic counts connections and refusals.
type traffic struct {
	mu                 sync.Mutex
	connected, refused tally
}

func (t *traffic) note(address string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.connected.add(address)
	case domain.CodeOf(err) == domain.CodeDestinationBlocked:
		t.refused.add(address)
	}
}

// String is a line for the reader of the output: most programs do not print the proxy's sentence. Nothing where
// nothing was asked for.
func (t *traffic) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	if len(t.connected.order) > 0 {
		parts = append(parts, "connected to "+t.connected.String())
	}
	if len(t.refused.order) > 0 {
		parts = append(parts, fmt.Sprintf("refused (%s) %s", domain.CodeDestinationBlocked, t.refused.String()))
	}
	if len(parts) == 0 {
		return ""
	}
	return "\nsignoff: network: " + strings.Join(parts, "; ") + "\n"
}

// tally counts addresses in the order in which they came, up to a limit: a scan has no end.
type tally struct {
	order []string
	times map[string]int
}

const (
	maxTally   = 20
	maxAddress = 100
)

func (t *tally) add(address string) {
	address = fmt.Sprintf("%+.*q", maxAddress, address)
	address = address[1 : len(address)-1]
	if t.times == nil {
		t.times = map[string]int{}
	}
	if t.times[address] == 0 && len(t.order) >= maxTally {
		address = "others"
	}
	if t.times[address] == 0 {
		t.order = append(t.order, address)
	}
	t.times[address]++
}

func (t *tally) String() string {
	var all []string
	for _, address := range t.order {
		if n := t.times[address]; n > 1 {
			address = fmt.Sprintf("%s (%d times)", address, n)
		}
		all = append(all, address)
	}
	return strings.Join(all, ", ")
}

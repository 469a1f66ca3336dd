package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dialer egress.Dialer) *Proxy {
	t.Helper()
	p, err := Open(dialer)
	must(t, err)
	return p
}

// site is a web server on this machine's loopback. Its port is all that tells one from another.
func site(t testing.TB, handler http.HandlerFunc) (server *httptest.Server, port string) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must(t, err)
	return server, port
}

// ask sends bytes to a proxy and returns all of its answer.
func ask(t testing.TB, p *Proxy, text string) string {
	t.Helper()
	client, server := tcpPair(t)
	p.running.Go(func() { p.serveConn(server) })
	_, _ = io.WriteString(client, text)
	answer, _ := io.ReadAll(client)
	client.Close()
	return string(answer)
}

// TestProxyRefusals asks for hosts in every disguise. What is granted exists, so that whatever gets through is seen.
func TestProxyRefusals(t *testing.T) {
	_, port := site(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	p := open(t, egress.Dialer{Hosts: []string{"granted.example", "*.below.example"}, AllowPrivate: true})
	defer p.Close()
	for request, want := range map[string]int{
		"CONNECT localhost:" + port + " HTTP/1.1":                       403,
		"CONNECT 127.0.0.1:" + port + " HTTP/1.1":                       403,
		"CONNECT granted.example@localhost:" + port + " HTTP/1.1":       403,
		"CONNECT localhost:" + port + ":443 HTTP/1.1":                   400,
		"CONNECT localhost:" + port + "#.below.example:443 HTTP/1.1":    400,
		"CONNECT granted.example HTTP/1.1":                              403,
		"CONNECT granted.example:0 HTTP/1.1":                            403,
		"CONNECT /localhost:" + port + " HTTP/1.1":                      403,
		"CONNECT *:443 HTTP/1.1":                                        403,
		"CONNECT localhost\x00.below.example:" + port + " HTTP/1.1":     400,
		"CONNECT localhost%00.below.example:" + port + " HTTP/1.1":      400,
		"GET http://localhost:" + port + "/ HTTP/1.1":                   403,
		"GET http://granted.example:1@localhost:" + port + "/ HTTP/1.1": 403,
		"GET http://granted.example\\@localhost:" + port + "/ HTTP/1.1": 400,
		"GET http://gr%61nted.example/ HTTP/1.1":                        400,
		"GET http://xn--a.localhost:" + port + "/ HTTP/1.1":             403,
		"GET http://2130706433:" + port + "/ HTTP/1.1":                  403,
		"GET / HTTP/1.1":                        400,
		"GET https://granted.example/ HTTP/1.1": 400,
		"GET ftp://granted.example/ HTTP/1.1":   400,
		"GET file:///etc/passwd HTTP/1.1":       400,
		"GET unix:///run/docker.sock HTTP/1.1":  400,
		"PRI * HTTP/2.0":                        400,
		"\x16\x03\x01":                          400,
		"GET http://granted.example/" + strings.Repeat("x", maxHead) + " HTTP/1.1": 400,
	} {
		answer := ask(t, p, request+"\r\nHost: granted.example\r\n\r\n")
		if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", want)) {
			t.Errorf("%.100q: %s", request, answer)
		}
		if want == 403 && !strings.Contains(answer, "\r\n\r\ndestinationBlocked: ") {
			t.Errorf("%.100q: no sentence: %s", request, answer)
		}
	}
}

// TestProxyForwardsRequestsAlone checks what becomes of the parts of a request that are meant for the proxy, and of what
// follows it: a second request could go where nobody has looked.
func TestProxyForwardsRequestsAlone(t *testing.T) {
	requests := 0
	_, port := site(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Location", "http://localhost:1/elsewhere")
		w.WriteHeader(http.StatusFound)
		fmt.Fprintf(w, "%s %s %q %q %q", r.Host, body, r.Header["X-Kept"], r.Header["X-Listed"], r.Header["Proxy-Authorization"])
	})
	p := open(t, egress.Dialer{Hosts: []string{"localhost"}, AllowPrivate: true})
	defer p.Close()
	answer := ask(t, p, "POST http://localhost:"+port+"/ HTTP/1.1\r\nHost: other.example\r\nX-Kept: a\r\nX-Listed: b\r\n"+
		"Connection: X-Listed, keep-alive\r\nProxy-Authorization: secret\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody"+
		"GET http://localhost:"+port+"/second HTTP/1.1\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 ") || !strings.HasSuffix(answer, "localhost:"+port+` body ["a"] [] []`) {
		t.Errorf("%s", answer)
	}
	if requests != 1 {
		t.Errorf("%d requests", requests)
	}
}

func TestProxySaysWhatItMay(t *testing.T) {
	p := open(t, egress.Dialer{AllowPrivate: true})
	defer p.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	listener.Close()
	answer := ask(t, p, "CONNECT "+address+" HTTP/1.1\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 502 ") || !strings.HasSuffix(answer, "\r\n\r\n"+address+" does not answer.\n") {
		t.Errorf("%s", answer)
	}
}

// TestProxyTunnelsBothHalves has one side say all that it has to say, and still hear the answer.
func TestProxyTunnelsBothHalves(t *testing.T) {
	client, inside := tcpPair(t)
	upstream, outside := tcpPair(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tunnel(inside, inside, upstream)
		inside.Close()
		upstream.Close()
	}()
	fmt.Fprint(client, "question")
	must(t, client.CloseWrite())
	if question, err := io.ReadAll(outside); string(question) != "question" || err != nil {
		t.Errorf("%q, %v", question, err)
	}
	fmt.Fprint(outside, "answer")
	outside.Close()
	if answer, err := io.ReadAll(client); !strings.HasSuffix(string(answer), "\r\n\r\nanswer") || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	<-done
}

func tcpPair(t testing.TB) (ours, theirs *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	one, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	other, err := listener.Accept()
	must(t, err)
	t.Cleanup(func() { one.Close(); other.Close() })
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// TestProxyGivesUp is about those who say nothing: in the head, and later.
func TestProxyGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		p := open(t, egress.Dialer{})
		defer p.Close()
		client, server := net.Pipe()
		p.running.Go(func() { p.serveConn(server) })
		_, _ = io.WriteString(client, "GET http://slow.example/ HTTP/1.1\r\n")
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(started) != headTimeout {
			t.Errorf("%v after %v", err, time.Since(started))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		client, inside := net.Pipe()
		upstream, outside := net.Pipe()
		go func() {
			inside := &idleConn{inside, idleTimeout}
			tunnel(inside, inside, &idleConn{upstream, idleTimeout})
			inside.Close()
			upstream.Close()
		}()
		reader := bufio.NewReader(client)
		_, _ = reader.ReadString('\n')
		_, _ = reader.ReadString('\n')
		started := time.Now()
		for range 10 { // a download: the client says nothing for as long as it takes
			time.Sleep(idleTimeout - time.Second)
			fmt.Fprint(outside, "x")
			_, err := reader.ReadByte()
			must(t, err)
		}
		if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) || time.Since(started) != 10*(idleTimeout-time.Second)+idleTimeout {
			t.Errorf("%v after %v", err, time.Since(started))
		}
	})
}

// TestProxyBoundsConnections opens one more than there are slots: it waits, and is served when another one goes.
func TestProxyBoundsConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := open(t, egress.Dialer{Hosts: []string{}})
	p.running.Go(func() { p.serve(listener, p.serveConn) })
	var all []net.Conn
	for range maxConnections {
		one, err := net.Dial("tcp", listener.Addr().String())
		must(t, err)
		all = append(all, one)
	}
	for len(p.slots) < maxConnections {
		runtime.Gosched()
	}
	last, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	defer last.Close()
	fmt.Fprint(last, "CONNECT a.example:443 HTTP/1.1\r\n\r\n")
	all[0].Close()
	if answer, _ := io.ReadAll(last); !strings.HasPrefix(string(answer), "HTTP/1.1 403 ") {
		t.Errorf("%s", answer)
	}
	p.Close()
	for _, one := range all[1:] {
		if _, err := one.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlives the proxy")
		}
		one.Close()
	}
}

func TestTraffic(t *testing.T) {
	var told traffic
	if got := told.String(); got != "" {
		t.Errorf("%q", got)
	}
	refusal := domain.Errorf(domain.CodeDestinationBlocked, "no")
	told.note("a.example:443", nil)
	told.note("a.example:443", nil)
	told.note("dead.example:443", io.EOF)
	told.note("\x1b[2J\n"+strings.Repeat("x", 1000), refusal)
	for i := range 1000 {
		told.note(fmt.Sprintf("%d.example:443", i), refusal)
	}
	got := told.String()
	if !strings.HasPrefix(got, "\nsignoff: network: connected to a.example:443 (2 times); refused (destinationBlocked) \\x1b[2J\\nxxx") ||
		!strings.HasSuffix(got, "18.example:443, others (981 times)\n") || strings.Contains(got, "dead") || len(got) > 1000 {
		t.Errorf("%q", got)
	}
}

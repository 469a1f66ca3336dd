package faultproxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"signoff/test/chaos/faultproxy"
)

// rig is a server that answers every byte with the same, a proxy before it, and a client.
type rig struct {
	*testing.T
	proxy  *faultproxy.Proxy
	client net.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	proxy, err := faultproxy.New(listener.Addr().String(), "listen")
	must(t, err)
	t.Cleanup(proxy.Close)
	r := &rig{T: t, proxy: proxy}
	r.client = r.dial()
	r.echo("hello")
	return r
}

func (r *rig) dial() net.Conn {
	r.Helper()
	client, err := net.Dial("tcp", r.proxy.Addr())
	must(r.T, err)
	r.Cleanup(func() { _ = client.Close() })
	return client
}

func (r *rig) send(text string) {
	r.Helper()
	_, err := r.client.Write([]byte(text))
	must(r.T, err)
}

// receive reads so many bytes; the error is how the stream ended before.
func (r *rig) receive(bytes int, patience time.Duration) (string, error) {
	must(r.T, r.client.SetReadDeadline(time.Now().Add(patience)))
	buffer := make([]byte, bytes)
	n, err := io.ReadFull(r.client, buffer)
	return string(buffer[:n]), err
}

func (r *rig) echo(text string) {
	r.Helper()
	r.send(text)
	if got, err := r.receive(len(text), 10*time.Second); got != text || err != nil {
		r.Fatalf("sent %q, received %q, %v", text, got, err)
	}
}

// breaks expects these bytes and then a reset.
func (r *rig) breaks(want string) {
	r.Helper()
	got, err := r.receive(1000, 10*time.Second)
	if got != want || !errors.Is(err, syscall.ECONNRESET) {
		r.Errorf("received %q, %v; want %q and a reset", got, err, want)
	}
}

// silent expects that nothing comes.
func (r *rig) silent() {
	r.Helper()
	if got, err := r.receive(1, 100*time.Millisecond); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
		r.Errorf("received %q, %v; want silence", got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBlackHoleLosesBytesAndIsHealedByAReset(t *testing.T) {
	for _, way := range []faultproxy.Direction{faultproxy.ToServer, faultproxy.ToClient, faultproxy.Both} {
		r := newRig(t)
		r.proxy.Swallow(way)
		r.send("lost")
		r.silent()
		r.proxy.Heal()
		r.breaks("")
		r.client = r.dial()
		r.echo("again")
	}
}

func TestBlackHoleTakesNewConnections(t *testing.T) {
	r := newRig(t)
	r.proxy.Swallow(faultproxy.Both)
	r.client = r.dial()
	r.send("lost")
	r.silent()
}

func TestWhatWasHeldArrivesLater(t *testing.T) {
	r := newRig(t)
	r.proxy.Hold(faultproxy.ToServer)
	r.send("late")
	r.silent()
	r.proxy.Heal()
	if got, err := r.receive(4, 10*time.Second); got != "late" || err != nil {
		t.Errorf("received %q, %v", got, err)
	}
}

func TestDelay(t *testing.T) {
	r := newRig(t)
	r.proxy.Delay(30 * time.Millisecond)
	begun := time.Now()
	r.echo("slow")
	if took := time.Since(begun); took < 60*time.Millisecond {
		t.Errorf("two delays took %v", took)
	}
}

func TestReset(t *testing.T) {
	r := newRig(t)
	r.proxy.Reset()
	r.breaks("")
}

func TestHalfClose(t *testing.T) {
	r := newRig(t)
	r.proxy.HalfClose(faultproxy.ToServer)
	if got, err := r.receive(1, 10*time.Second); !errors.Is(err, io.EOF) {
		t.Errorf("received %q, %v; want the end", got, err)
	}
}

func TestCuts(t *testing.T) {
	for name, c := range map[string]struct {
		give func(*faultproxy.Proxy)
		want string
	}{
		"on a word, with it":    {func(p *faultproxy.Proxy) { p.CutOn("mm", true) }, ""},
		"on a word, without it": {func(p *faultproxy.Proxy) { p.CutOn("mm", false) }, ""},
		"after three bytes":     {func(p *faultproxy.Proxy) { p.CutAfter(3, faultproxy.ToClient) }, "com"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.give(r.proxy)
			r.send("commit")
			// A reset may overtake the bytes before it.
			got, err := r.receive(1000, 10*time.Second)
			if !strings.HasPrefix(c.want, got) && c.want != "" || !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("received %q, %v", got, err)
			}
			if r.proxy.Fired() != 1 {
				t.Errorf("%d cuts", r.proxy.Fired())
			}
			r.client = r.dial()
			r.echo("commit") // it happens once
		})
	}
}

func TestOnlyMarkedLinksAreSwallowed(t *testing.T) {
	r := newRig(t)
	other := r.client
	r.client = r.dial()
	r.echo("lis")
	r.echo("ten signoff")
	if r.proxy.Marked() != 1 || r.proxy.Links() != 2 {
		t.Errorf("%d marked of %d", r.proxy.Marked(), r.proxy.Links())
	}
	r.proxy.SwallowMarked()
	r.send("lost")
	r.silent()
	r.client = other
	r.echo("stays")
}

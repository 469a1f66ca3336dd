package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is a client's connection and the one to the server that belongs to it.
type link struct {
	control        *control
	client, server *net.TCPConn
	once           sync.Once
	gone           chan struct{} // closed by reset

	mu     sync.Mutex
	marked bool
	lost   bool   // bytes
	tail   []byte // the end of what the client sent, where the mark may have begun
}

// run pumps in both directions until both are over.
func (l *link) run() {
	var back sync.WaitGroup
	back.Go(func() { l.pump(ToClient, l.server, l.client) })
	l.pump(ToServer, l.client, l.server)
	back.Wait()
	_, _ = l.client.Close(), l.server.Close()
}

// pump forwards, and passes on how the stream ends: in order, or broken.
func (l *link) pump(way Direction, from, to *net.TCPConn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.forward(way, to, buffer[:n]) {
			l.reset()
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			if l.await(way) {
				_ = to.CloseWrite()
			}
			return
		case err != nil:
			if l.await(way) {
				l.reset()
			}
			return
		}
	}
}

// forward brings a piece to its other end, as far as the orders let it. It reports whether the link goes on.
func (l *link) forward(way Direction, to *net.TCPConn, piece []byte) bool {
	if way == ToServer {
		l.look(piece)
	}
	if !l.await(way) {
		return !l.isGone() // swallowed
	}
	pass, goOn := l.control.cutting(way, piece)
	if _, err := to.Write(piece[:pass]); err != nil {
		return false
	}
	return goOn
}

// await waits as the orders say. It is false where the bytes are lost.
func (l *link) await(way Direction) bool {
	delayed := false
	for {
		l.control.mu.Lock()
		o, changed := l.control.orders, l.control.changed
		l.control.mu.Unlock()
		switch {
		case o.swallow&way != 0, o.swallowMarked && l.isMarked():
			l.lose()
			return false
		case l.isGone():
			return false
		case o.hold&way != 0:
			select {
			case <-changed:
			case <-l.gone:
			}
		case o.delay > 0 && !delayed:
			delayed = true
			select {
			case <-time.After(o.delay):
			case <-l.gone:
			}
		default:
			return true
		}
	}
}

// look marks the link when its client has sent the text of the mark, in one piece or in several.
func (l *link) look(piece []byte) {
	mark := l.control.mark
	l.mu.Lock()
	found := false
	if len(mark) > 0 && !l.marked {
		l.tail = append(l.tail, piece...)
		found = bytes.Contains(l.tail, mark)
		l.tail = bytes.Clone(l.tail[max(0, len(l.tail)-len(mark)+1):])
		l.marked = found
	}
	l.mu.Unlock()
	if found {
		l.control.mu.Lock()
		l.control.marked++
		l.control.mu.Unlock()
	}
}

// reset breaks the link without a word: both ends get an RST.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.gone)
		for _, end := range []*net.TCPConn{l.client, l.server} {
			_ = end.SetLinger(0)
			_ = end.Close()
		}
	})
}

func (l *link) isGone() bool {
	select {
	case <-l.gone:
		return true
	default:
		return false
	}
}

func (l *link) isMarked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.marked
}

func (l *link) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

func (l *link) hasLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

package store

import (
	"net"
	"testing"
	"time"
)

// connected is both ends of a connection.
func connected(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if near, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

func TestSilentSocket(t *testing.T) {
	near, far := connected(t)
	if !silentSocket(near) {
		t.Error("nothing has come")
	}
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	awaitInput(t, near)
	near, far = connected(t)
	_ = far.Close()
	awaitInput(t, near)
}

// awaitInput waits until something has come from the far end.
func awaitInput(t *testing.T, near net.Conn) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); silentSocket(near); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is silent")
		}
	}
}

// The driver may have left a goroutine behind that reads until something comes.
func TestSilentSocketWhileSomebodyReads(t *testing.T) {
	near, _ := connected(t)
	go func() { _, _ = near.Read(make([]byte, 1)) }()
	time.Sleep(50 * time.Millisecond) // the reader has the lock by then, or the test proves nothing
	looked := make(chan bool)
	go func() { looked <- silentSocket(near) }()
	select {
	case silent := <-looked:
		if !silent {
			t.Error("nothing has come")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for the reader")
	}
}

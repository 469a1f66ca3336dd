package http

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What the server accepts has the options, and not only what it listens on.
func TestAcceptedConnectionsNoticeVanishedClients(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	defer client.Close()
	server, err := listener.Accept()
	must(t, err)
	defer server.Close()
	for name, option := range map[string]struct{ level, name, want int }{
		"TCP_USER_TIMEOUT": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 30_000},
		"SO_KEEPALIVE":     {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"TCP_KEEPIDLE":     {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		"TCP_KEEPINTVL":    {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
		"TCP_KEEPCNT":      {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
	} {
		if got := optionOf(t, server, option.level, option.name); got != option.want {
			t.Errorf("%s is %d, want %d", name, got, option.want)
		}
	}
}

func optionOf(t *testing.T, conn net.Conn, level, name int) (value int) {
	t.Helper()
	raw, err := conn.(syscall.Conn).SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) { value, err = unix.GetsockoptInt(int(fd), level, name) }))
	must(t, err)
	return value
}

// A network that is gone says nothing to anybody: no FIN, no RST. The server finds out since nobody confirms what it sends.
func TestAVanishedClientIsNoticed(t *testing.T) {
	noticed := make(chan error, 1)
	network := make(chan error, 1)
	go func() { // its thread has a network of its own, and ends with it
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			network <- err
			return
		}
		network <- nil
		noticed <- vanish()
	}()
	if err := <-network; errors.Is(err, unix.EPERM) {
		t.Log("no network of its own can be made here: TestAcceptedConnectionsNoticeVanishedClients has to do")
		return
	} else if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-noticed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the connection is held a minute later")
	}
}

// vanish takes the network away between a server and its client, and returns nil when the server has noticed.
func vanish() error {
	if err := loopback(true); err != nil {
		return err
	}
	listener, err := listen(context.Background(), "127.0.0.1:0", time.Second)
	if err != nil {
		return err
	}
	defer listener.Close()
	client, err := (&net.Dialer{}).Dial("tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		return err
	}
	defer server.Close()
	if err := loopback(false); err != nil {
		return err
	}
	if _, err := server.Write([]byte(": heartbeat\n\n")); err != nil {
		return nil // noticed by then
	}
	if _, err := server.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		return errors.New("the server has read something from a client that is gone")
	}
	return nil
}

// loopback switches the one interface of the thread's network.
func loopback(up bool) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	flags := request.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	request.SetUint16(flags)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

package proxy

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Start serves the listening sockets that arrive over relay, until Close, and closes relay.
func (p *Proxy) Start(relay *os.File) { p.running.Go(func() { p.await(relay) }) }

// await serves each socket as soon as it arrives, until the proxy is closed. A command that never started sends none.
func (p *Proxy) await(relay *os.File) {
	defer p.closing(relay)()
	for i := range 1 + len(p.relays) {
		socket, err := receive(relay)
		if err != nil {
			return
		}
		listener, err := net.FileListener(socket)
		socket.Close()
		if err != nil {
			return
		}
		serveConn := p.serveConn
		if i > 0 {
			serveConn = p.relayTo(p.relays[i-1])
		}
		p.running.Go(func() { p.serve(listener, serveConn) })
	}
}

// receive waits for one descriptor. There is room for no other.
func receive(relay *os.File) (*os.File, error) {
	raw, err := relay.SyscallConn()
	if err != nil {
		return nil, err
	}
	rights, length := make([]byte, unix.CmsgLen(4)), 0
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		_, length, _, _, failure = unix.Recvmsg(int(fd), make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
		return failure != unix.EAGAIN
	})
	if err := errors.Join(err, failure); err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("proxy: the command has ended without a listening socket"))
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return nil, errors.Join(err, errors.New("proxy: no listening socket was sent"))
	}
	return os.NewFile(uintptr(descriptors[0]), "listener"), nil
}

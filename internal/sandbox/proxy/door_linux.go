package proxy

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Start serves the door that comes over courier, until Close, and closes courier.
func (p *Proxy) Start(courier *os.File) { p.running.Go(func() { p.await(courier) }) }

// await serves the door as soon as it arrives, until the proxy is closed. A command that never came to be sends none.
func (p *Proxy) await(courier *os.File) {
	defer p.closing(courier)()
	door, err := receive(courier)
	if err != nil {
		return
	}
	defer door.Close()
	listener, err := net.FileListener(door)
	if err != nil {
		return
	}
	p.serve(listener)
}

// receive waits for one descriptor. There is room for no other.
func receive(courier *os.File) (*os.File, error) {
	raw, err := courier.SyscallConn()
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
		return nil, errors.Join(err, errors.New("proxy: the command has ended without a door"))
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return nil, errors.Join(err, errors.New("proxy: no door was sent"))
	}
	return os.NewFile(uintptr(descriptors[0]), "door"), nil
}

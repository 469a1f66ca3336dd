package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipes collects pipe ends, so that each is closed once on every way out.
type pipes struct {
	all []pipe
	err error
}

type pipe struct{ ours, theirs *os.File }

func (p *pipes) fromChild() pipe {
	ours, theirs, err := os.Pipe()
	return p.add(pipe{ours, theirs}, err)
}

func (p *pipes) toChild() pipe {
	theirs, ours, err := os.Pipe()
	return p.add(pipe{ours, theirs}, err)
}

func (p *pipes) add(one pipe, err error) pipe {
	if err != nil {
		p.err = err
		return pipe{}
	}
	p.all = append(p.all, one)
	return one
}

func (p *pipes) closeTheirs() {
	for _, one := range p.all {
		one.theirs.Close()
	}
}

func (p *pipes) closeOurs() {
	for _, one := range p.all {
		one.ours.Close()
	}
}

// relaySocket is a pair of sockets, over which descriptors can travel.
func (p *pipes) relaySocket() pipe {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return p.add(pipe{}, err)
	}
	err = unix.SetNonblock(pair[0], true) // so that closing it wakes who waits for it
	return p.add(pipe{os.NewFile(uintptr(pair[0]), "relay"), os.NewFile(uintptr(pair[1]), "relay")}, err)
}

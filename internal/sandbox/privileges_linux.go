package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchdogCaps are the capabilities that build the isolation. An ordinary user keeps his id inside, and would lose them at
// the exec of the stage if they were not ambient.
var watchdogCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_BIND_SERVICE}

// privileged reports whether namespaces can be made without a user namespace: root, unless in a container that is not
// trusted with it.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil || os.Geteuid() != 0 {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// unshare sets the namespaces that the watchdog starts in.
func (p plan) unshare(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	if p.Method == byNamespaces {
		attr.Cloneflags |= unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	}
	if privileged() {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = watchdogCaps
}

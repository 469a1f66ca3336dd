package sandbox

import "golang.org/x/sys/unix"

// oldModeCalls are those that newer architectures do not have.
var oldModeCalls = []modeCall{
	{number: unix.SYS_CHMOD, mode: 1}, {number: unix.SYS_CREAT, mode: 1}, {number: unix.SYS_MKNOD, mode: 1},
	{number: unix.SYS_OPEN, mode: 2, flags: 1},
}

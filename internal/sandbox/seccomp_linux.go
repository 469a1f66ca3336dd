package sandbox

import (
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter forbids system calls that namespaces allow. It lists the forbidden ones, not the allowed ones: the
// commands are compilers, test suites and package managers, and the boundary is the namespaces.

// forbidden system calls fail as if not permitted.
var forbidden = []uint32{
	// Keyrings belong to a user id, not to a namespace.
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	// Large parts of the kernel that commands can do without, and where most local exploits come from.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, // goes around this very filter
	// Powers over the machine, should a capability ever get through.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_SYSLOG, unix.SYS_OPEN_BY_HANDLE_AT,
	// The isolation itself.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_FSCONFIG,
	unix.SYS_MOUNT_SETATTR,
}

// unreadable system calls take in memory what others take as arguments, where no filter sees it. They do as if the kernel
// were older, and programs fall back.
var unreadable = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2}

// modeCall is a system call that can make a file run with the rights of its owner: the server, root perhaps. Such a file
// would do that outside, for whoever starts it.
type modeCall struct {
	number uint32
	mode   uint32 // which argument
	flags  uint32 // which argument tells that the mode counts; 0: it always does
}

var modeCalls = append([]modeCall{
	{number: unix.SYS_FCHMOD, mode: 1}, {number: unix.SYS_FCHMODAT, mode: 2}, {number: unix.SYS_FCHMODAT2, mode: 2},
	{number: unix.SYS_MKNODAT, mode: 2}, {number: unix.SYS_OPENAT, mode: 3, flags: 2},
}, oldModeCalls...)

const (
	ownersRights = unix.S_ISUID | unix.S_ISGID
	creates      = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY // flags without which a mode is not looked at
)

// families of sockets that may be made. A network namespace holds back the internet families; it does not hold back
// AF_VSOCK, which reaches the host of a virtual machine. The first one is left out where a command sees sockets of the machine.
var families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// Offsets in struct seccomp_data. The arguments are 64 bits wide; on the little-endian machines that we know, the low
// half, which is all that the kernel looks at in our cases, comes first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArgument0    = 16
	argumentSize       = 8
)

const x32Bit = 0x40000000 // marks the third set of system calls of amd64

// architectures whose system calls carry the numbers above. On others, a sandbox is not to be had.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

func (p plan) filterSystemCalls() error {
	architecture, known := architectures[runtime.GOARCH]
	if !known {
		return fmt.Errorf("no filter for %s", runtime.GOARCH)
	}
	allowed := families
	if p.View.Private {
		allowed = families[1:]
	}
	filter := systemCallFilter(architecture, allowed)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return errno
	}
	return nil
}

// systemCallFilter is a classic BPF program: load a word, compare, answer. Each rule is complete in itself, so that no
// jump reaches further than its own end.
func systemCallFilter(architecture uint32, families []uint32) []unix.SockFilter {
	noSuchCall, notPermitted := deny(unix.ENOSYS), deny(unix.EPERM)
	f := []unix.SockFilter{
		load(offsetArchitecture), skipIf(unix.BPF_JEQ, architecture, 1), noSuchCall, // 32-bit calls have other numbers
		load(offsetNumber), skipUnless(unix.BPF_JGE, x32Bit, 1), noSuchCall,
	}
	for _, number := range unreadable {
		f = append(f, skipUnless(unix.BPF_JEQ, number, 1), noSuchCall)
	}
	for _, number := range forbidden {
		f = append(f, skipUnless(unix.BPF_JEQ, number, 1), notPermitted)
	}
	for _, call := range modeCalls {
		f = append(f, call.filter(notPermitted)...)
	}
	f = append(f,
		skipUnless(unix.BPF_JEQ, unix.SYS_CLONE, 4),
		load(offsetArgument0), skipUnless(unix.BPF_JSET, unix.CLONE_NEWUSER, 1), notPermitted, allow(),
	)
	if !slices.Contains(families, unix.AF_UNIX) {
		f = append(f, connectedPairs(notPermitted)...)
	}
	f = append(f, skipIf(unix.BPF_JEQ, unix.SYS_SOCKET, 1), allow(), load(offsetArgument0))
	for _, family := range families {
		f = append(f, skipUnless(unix.BPF_JEQ, family, 1), allow())
	}
	return append(f, deny(unix.EAFNOSUPPORT))
}

// connectedPairs allows pairs of sockets that stay connected to each other. One of datagrams can be connected anew, or send without
// that, to any local socket that has a path.
func connectedPairs(notPermitted unix.SockFilter) []unix.SockFilter {
	const kindOfSocket = 0xf // the rest are flags
	return []unix.SockFilter{
		skipUnless(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 6),
		load(offsetArgument0 + argumentSize), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: kindOfSocket},
		skipIf(unix.BPF_JEQ, unix.SOCK_STREAM, 2), skipIf(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1), notPermitted, allow(),
	}
}

// filter answers the call, or is skipped by all others.
func (c modeCall) filter(notPermitted unix.SockFilter) []unix.SockFilter {
	var f []unix.SockFilter
	if c.flags != 0 {
		f = append(f, load(offsetArgument0+argumentSize*c.flags), skipIf(unix.BPF_JSET, creates, 1), allow())
	}
	f = append(f, load(offsetArgument0+argumentSize*c.mode), skipUnless(unix.BPF_JSET, ownersRights, 1), notPermitted, allow())
	return append([]unix.SockFilter{skipUnless(unix.BPF_JEQ, c.number, uint8(len(f)))}, f...)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func skipIf(compare uint16, value uint32, count uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: value, Jt: count}
}

func skipUnless(compare uint16, value uint32, count uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, K: value, Jf: count}
}

func allow() unix.SockFilter { return answer(unix.SECCOMP_RET_ALLOW) }

func deny(errno unix.Errno) unix.SockFilter {
	return answer(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

func answer(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

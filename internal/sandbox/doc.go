// Package sandbox runs a command so that it can touch its workspace and nothing else, and so that nothing of it is
// left when Run returns.
//
// # Model
//
// Every command runs below a supervisor: this same binary, started again with a hidden first argument. The server
// holds one end of a pipe, the supervisor the other. Whatever ends the command early is one and the same event, the
// pipe closes: the server cancels, the time is up, or the server is dead, be it by kill -9. The supervisor then kills
// everything below it, waits until the kernel has buried the last process, and only then reports.
//
//	server ──control pipe──▶ supervisor ──▶ PID 1 of a new PID namespace ──▶ confine ──exec──▶ the command
//	   ▲                                                                                          │
//	   └───────────────────────────────── one pipe for stdout and stderr ─────────────────────────┘
//
// A process group would not do: whoever calls setsid leaves it, and a grandchild that keeps stdout open would hold up
// the caller for as long as it likes. When PID 1 of a PID namespace dies, the kernel kills every other process in it;
// there is no way out. The supervisor is besides a subreaper: what loses its parent becomes its child, so waiting for
// "no more children" is waiting for the end of the whole tree.
//
// The stages are processes and not function calls because the Go runtime has many threads: a namespace is entered by
// clone, and what one thread gives up (capabilities, system calls) the others would keep. The last stage, confine,
// gives up everything on one locked thread and turns that thread into the command.
//
// # Kinds
//
// [New] tries these in order, by really running a command, and takes the first that works:
//
//   - bubblewrap builds the walls where it is installed;
//   - namespaces are the same walls built by ourselves: user (unless root), PID, mount, network, IPC and UTS;
//   - none refuses every command with [domain.CodeSandboxUnavailable]. A missing sandbox never means allow.
//
// Inside both, the system folders are read-only, the workspace lies at its own path, /tmp is empty and the command's
// own, and the rest of the machine is not there: no home folders, no processes, no network but a loopback of its own.
// On top come Landlock where the kernel has it, a system call filter, no_new_privs, no capabilities, and limits.
//
// The fourth kind, off, is the operator's explicit word that commands need no walls. They still run below the
// supervisor, in a PID namespace where that can be had, so that nothing survives.
//
// # Use
//
// main calls [Intercept] before anything else: it is the entry of the stages. After that, [New] finds out what works,
// [Sandbox.Report] says it to people, and [Sandbox.Run] runs commands.
//
// # Promises
//
//   - Run returns within about two seconds of the timeout or the cancel, with the output so far.
//   - When Run has returned, every process of the command is dead, also what called setsid or forked twice.
//   - When the server dies, the same holds a moment later.
//   - The command inherits nothing of the server's environment and descriptors; inside walls, it sees none of its
//     files and processes either.
//   - .git/hooks and .git/config are read-only inside, and cannot be moved away: they would run outside, later.
//
// # Limits of this package
//
// Memory and the number of processes are counted by the supervisor some times a second, over the whole tree: a fast
// command overshoots for a moment. Behind that, the kernel bounds the number of threads, except for root before Linux
// 6.14: there a fork bomb can outrun the supervisor and stall the machine, so a server should not run as root. The disk
// is limited per file, not in sum. In the kind off, an ordinary user's commands live in a user namespace, where sudo
// does not work; where no namespace can be had, a hostile command can kill its own supervisor and escape it. Against
// code that attacks the kernel itself, use a virtual machine.
package sandbox

// Package sandbox runs commands and agents, and leaves nothing of them behind. A command is isolated, so that it touches its
// workspace and nothing else; an agent's process is not.
//
// # Model
//
// Everything runs below a supervisor: this same binary, started again with a hidden first argument. The server
// holds one end of a pipe, the supervisor the other. One event ends the command early: the
// pipe closes, because the server cancels, the time is up, or the server is dead, even by kill -9. The supervisor then kills
// everything below it, waits until the kernel has reaped the last process, and only then reports.
//
//	server ──control pipe──▶ supervisor ──▶ PID 1 of a new PID namespace ──▶ confine ──exec──▶ the command
//	   ▲                                                                                          │
//	   └───────────────────────────────── one pipe for stdout and stderr ─────────────────────────┘
//
// The pipe of a paused server does not close: one that was stopped, or starved, or whose machine slept. Meanwhile another
// replica acquires its executions and runs their tools. So a supervisor also knows the end of its server's lease:
// [Sandbox.Trust] writes that moment into memory that only the supervisors can read, and when it has passed, they kill by
// themselves. The clock goes on while the machine sleeps.
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
//   - bubblewrap isolates commands where it is installed;
//   - namespaces are the same isolation by our own code: user (unless root), PID, mount, network, IPC and UTS;
//   - none refuses every command with [domain.CodeSandboxUnavailable]. A missing sandbox never means allow.
//
// Inside both, the system folders are read-only, the workspace lies at its own path, /tmp is empty and the command's
// own, and the rest of the machine is not there: no home folders, no processes, no network but a loopback of its own.
// A command that is granted hosts finds a proxy on that loopback; see Network.
// On top come Landlock where the kernel has it, a system call filter, no_new_privs, no capabilities, and limits.
//
// The fourth kind, off, is the operator's explicit choice to run commands without isolation. They still run below the
// supervisor, in a PID namespace where the kernel allows one, so that nothing survives.
//
// # Processes
//
// A [Process] is a program that the server speaks to: an agent. It runs as commands do in the kind off, whatever the
// kind is, also in none: it needs the network, the file system and its home, and its isolation is the operator's
// choice. It can isolate itself. It has three streams instead of one, and exactly the environment that it is given, which
// does not show among the arguments of any stage. A second order, terminate, asks the program itself to end; the end of
// the pipe still kills.
//
// A process lives for hours and has tools of its own, so the limits of commands are not its limits: neither memory nor
// processes are counted, its priority is not lowered, and no limit per process is set. What remains is a bound on
// threads in the kernel, four times that of a command, where the tree is counted by itself; and when the machine's
// memory runs out, commands go first, then agents, then the server.
//
// # Network
//
// A command with [domain.Command.Hosts] keeps its empty network and gets a socket relay: the last stage listens on the
// loopback inside and sends the listening socket to the server, over a socket that it inherits and that closes when it
// becomes the command. A socket stays in the namespace that it was made in, whoever holds it, so the server accepts
// connections from inside while no packet can leave.
//
//	the command ──127.0.0.1 inside──▶ listening socket, held by the server ──▶ proxy ──▶ package egress ──▶ a host
//
// Behind the relay is a small HTTP proxy, for as long as the command runs: CONNECT for everything with TLS, and requests for
// http:// addresses. It is package proxy, and handed in by [Config]: what this package imports, each stage of each command
// sets up once more, and net/http comes with nearly all of the binary. Package egress judges each name and each address. The command hears of it by HTTP_PROXY and its
// relatives; what is refused is answered with 403 and a sentence, and a last line of the output says what was connected to
// and what was refused, because most programs keep the proxy's answer to themselves.
//
// In the kind off there is no isolation: the network is open, and Hosts has no effect.
//
// # Use
//
// main imports package early, where the stages begin, before the rest of the binary is set up. A test binary whose tests
// start something calls [Intercept] in TestMain. After that, [New] finds out what works, [Sandbox.Report] says it to people, [Sandbox.Run]
// runs commands, and [Sandbox.Start] starts processes.
//
// # Promises
//
//   - The timeout counts from the moment in which the command begins. Where it does not begin, Run says so with
//     [domain.CodeNotStarted], and that only where nothing of it has run.
//   - Run returns within about two seconds of the timeout or the cancel, with the output so far.
//   - When Run has returned, every process of the command is dead, also what called setsid or forked twice.
//   - When the server dies, the same holds a moment later, and so it does when the moment that it gave to Trust has passed,
//     whatever the server is doing.
//   - The command inherits nothing of the server's environment and descriptors; isolated, it sees none of its
//     files and processes either.
//   - What a command or process is given as environment reaches it alone: no stage runs with it.
//   - Nothing of a command leaves the machine but by TCP, to hosts that it was granted, at public addresses; where it is
//     granted none, nothing. When Run has returned, all its connections are closed.
//   - Files that make git, editors, direnv and agents run something later, outside, are read-only inside and cannot be
//     moved: .git/hooks and .git/config, .claude/settings.json and their like. One that was not there before is
//     moved away when the command is over, also when the server is dead. A repository that git init or git clone has made
//     stays, without hooks and without settings that run programs.
//   - What [domain.Command.Denied] lists is not written, and where it is hidden not read, by whatever name the command tries, nor is it
//     moved away. Where that cannot be done, [Sandbox.Keeps] says so, and the command does not begin.
//   - A [Child] is done within about two seconds of Kill, of its program's own exit, and of the server's death, and then
//     nothing of it is left. What it had written can be read to its end, which then comes, whoever holds the pipe.
//   - Start returns when the program runs, or with an error that names what could not be run; then nothing is left of it.
//
// # Limits of this package
//
// A virtual machine that is frozen from outside does not know that time goes by: its supervisors and its server go on
// where they were, for the moment that it takes to look at the clock.
//
// Memory and the number of processes are counted by the supervisor some times a second, over the whole tree: a fast
// command overshoots for a moment. Behind that, the kernel bounds the number of threads, except for root before Linux
// 6.14: there a fork bomb can outrun the supervisor and stall the machine, so a server should not run as root. The disk
// is limited per file, not in sum. A file that is moved away was there while the command ran, and stays if the supervisor is
// killed, too; repositories below the working directory are not looked into. Network reaches those programs alone that honour the proxy variables; other protocols do
// not leave. What is granted by name is trusted with what is sent there: the proxy does not look into TLS. In the kind off, and in a process, an ordinary user's programs live in a user
// namespace, where sudo does not work; where no namespace can be had, hostile ones can kill their own supervisor and
// escape it. A program without isolation can also ask somebody outside to run something, a service manager or a container
// engine: that is nobody's child here. Against code that attacks the kernel itself, use a virtual machine.
package sandbox

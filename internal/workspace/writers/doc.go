// Package writers tells whether somebody outside a command's sandbox writes below a folder while the command runs.
//
// A checkpoint attributes the files that a command has changed to the execution only if the observer saw nobody else write in the folder meanwhile.
//
// # Model
//
// A command in a sandbox writes through a mount of its own. An [Observer] marks the mounts that everybody else writes through (fanotify_mark(2),
// FAN_MARK_MOUNT), so the kernel reports everybody but the command: a person's editor or shell, another program, and the server, whose own writes
// the observer ignores. It marks the mount of the folder in the mount namespace of each process that the server has not started: a service
// manager gives namespaces to services, and snap to editors.
//
// The kernel reports a process that has written to a file, or has closed one that was open for writing (FAN_MODIFY, FAN_CLOSE_WRITE). So the observer also
// sees a new file, even an empty one, and a write to mapped memory once the file is closed.
//
// A [Watch] watches one folder. The marks are there only while a watch needs them. A server has one observer, with one group of fanotify and one goroutine.
//
// # Promises
//
//   - A write that began after the return of Watch, and ended before the call of Stop, is in the sighting.
//   - A sighting does not name the files that the server itself writes, nor the files that a command in a sandbox of this server writes.
//   - If the kernel drops events, the sighting is Lost. Then nobody knows who has written.
//   - If the observer cannot see writers, [New] and [Observer.Watch] return an error with the reason. They need Linux 5.8 and CAP_SYS_ADMIN in the
//     initial user namespace.
//
// # Limits
//
// The observer does not see these changes of others:
//
//   - mkdir, rename, link, symlink, unlink, chmod, chown, utime, setxattr, and truncate(2) by path. It sees an editor that replaces a file by a rename,
//     since the editor has written the new file; it does not see mv, rm and chmod alone.
//   - A write through another bind mount of the folder, or by a program in a user namespace of its own (a rootless container), in another container or on another
//     machine. In a container, the observer does not see writers on the host: [Observer.Blind] says so.
//   - A write through a mount namespace that did not exist when the watch began, or that the server may not look at.
//   - A write by a program that the server has started with a mount namespace of its own: a command of another execution, or an external agent. The server
//     itself knows when these run.
//   - A write through another name of the file, outside the folder, and one to a file that left the folder before the observer read the event.
//
// A command without isolation, on the host, writes through the same mount as everybody, so the observer sees the command itself. Before Linux 6.13, the kernel
// does not report an event whose file it could not open, for instance without a free descriptor. Since Linux 6.13 it does, and the sighting is Lost.
//
// A mark on a file system (FAN_MARK_FILESYSTEM) also reports the first group, but from everybody and only with a process id. The id of a process that has
// ended says nothing, and mv, rm and the commands in a sandbox end at once. A reader in a PID namespace that holds all sandboxes could tell them apart, living
// or dead: it reads the ids of processes outside as 0. The sandbox has no such namespace.
//
// For each event the kernel opens the written file for the observer, which looks at its path and closes it. Events with file handles would avoid
// that, but file systems without handles, such as overlayfs, refuse marks for them.
//
// An event takes about 15 µs, and the kernel merges the events of one process about one file. The queue holds 16384 events
// (/proc/sys/fs/fanotify/max_queued_events).
//
// # Use
//
//	observer, err := writers.New()
//	watch, err := observer.Watch(folder, ".git")
//	// the command runs
//	seen := watch.Stop()
//	if seen.None() { … }
//
// Sources: fanotify(7), fanotify_init(2), fanotify_mark(2), and fs/notify/fanotify of Linux 6.18.
//
// Many goroutines may use an Observer at once.
package writers

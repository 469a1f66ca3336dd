// Package proxy is the way out of a command that was granted hosts: a small HTTP proxy on the server's side.
//
// # The model
//
// One [Proxy] serves one command. [Open] makes it for the hosts that the command was granted, [Proxy.Start] waits for the
// listening socket inside the command's network, and [Proxy.Close] ends all connections.
// [Proxy.Traffic] then lists the connections and the refusals. Package egress judges each name and each address.
//
// # Promises
//
//   - Nothing is connected to that was not granted, at whatever address, and by whatever spelling.
//   - When Close has returned, nothing of the proxy runs, and no connection of the command is open.
//   - A hostile program costs at most its 64 connections and their buffers; one that stands still is given up.
//
// # Use
//
// It is handed to package sandbox as a value, in [signoff/internal/sandbox.Config], and not imported there: the stages of
// a command are that package, too, and with net/http they would take four times as long to begin.
package proxy

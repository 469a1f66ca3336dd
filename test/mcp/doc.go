// Package mcp tests what Signoff does with MCP servers: as the kit of the protocol's makers wants it, with servers that others have written, with one
// that means harm, and with kills in the middle of calls.
//
// `make test-mcp` runs it, `make test` does not: npm installs the kit and the servers at the first time. All test files therefore carry the build
// tag mcp.
//
//   - npm is a locked manifest of the conformance kit, the servers, and the Node that runs them. No package's scripts are run.
//     [harness.Cache] keeps what was installed, under the hash of the lock file.
//   - conformance is the client that the kit drives: internal/mcp with the store, the egress and the OAuth of the server, without the SDK's own client.
//     TestConformance runs each scenario of both revisions; what is not run stands in a table with its reason.
//   - TestRealServers has a scripted model call servers from npm through the binary: request, approval, result.
//   - hostile is a server of ours that speaks JSON-RPC by hand. It counts its effects in a ledger. TestHostile drives each of its behaviours through
//     the binary, over both transports, and checks that nothing leaks, nothing hangs and nothing runs unasked.
//   - TestKills kills a replica at each failpoint of a call, while another one is there to go on.
package mcp

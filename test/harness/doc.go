// Package harness is what every program that tests the real server needs: test/e2e, test/chaos, test/agents and bench.
//
//	harness ── Build       the binary, as `make build` makes it
//	        ── Process     one process of it: started, awaited, signalled, reaped
//	        ── Machine     a machine of an operator, with files, users and a network of its own (Linux, root)
//	        ── Client      requests to the public API, with a token
//	        ── Events      an event stream, checked as it comes
//	        ── Chat        a model that answers by a script, over OpenAI's chat completions
//	        ── Aimock      a model server that others have written, from npm
//	        ── Processes   what /proc tells of everybody else's processes
//	        ── Results     the file in which a campaign keeps what it found
//
// Nothing here knows a test: functions return errors, and who calls them decides what an error means. A test wraps them with a
// [testing.T], the campaigns with a run that counts violations.
//
// The settings of a server, what its clients do and what must hold of its logs belong to the callers. The order of a start is
// always the same:
//
//	process, err := harness.Start(command)          // dies with this program
//	err = process.Await(ctx, func() bool { … })     // until it says where it listens, or has ended
//	client := harness.Client{Base: base, Token: token}
package harness

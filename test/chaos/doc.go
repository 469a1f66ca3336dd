//go:build linux

// Program chaos does to real servers what machines do to them, while people use them, and then holds everything that was seen
// against the invariants of the design.
//
// # Model
//
// A campaign is made of blocks; each is one kind of fault. A go of a block is a run: it has a seed, does some cycles, and
// becomes one line of the results file. In a run a block makes one or more worlds:
//
//	world ── model server          scripted; its answers depend on the conversation alone
//	      ── servers               processes of the real binary, over SQLite or one Postgres
//	      ── workspace             with the command `effect` and the ledger that it writes
//	      ── load                  clients that create, follow and decide, and keep all that they see and hear
//
// The block breaks something while the load runs, again and again, then lets the load settle and has the world checked:
//
//   - I1 each log is 1, 2, 3 …, and what the follower saw, over all its reconnects to all replicas, is the log byte for byte;
//   - I2 every execution and decision that was acknowledged is there, and no Idempotency-Key has made two;
//   - I3 every execution has ended, in one terminal event, and no approval is open;
//   - I4 every start has an approval of its own that was approved before, each call has one outcome, and the ledger has no effect
//     more often than the log has starts;
//   - I6 no two tools of one execution ran at the same time: the command holds a lock that only its death takes from it;
//   - I7 what the deciders were answered is explained by a register that takes one value (register.go), the log has the winner,
//     and what ran is byte for byte what was approved;
//   - I8 no process is left five seconds later;
//   - in a tree, each call that delegates has one child, each result of a child is in the log and in the conversation of its parent once, and all end; the
//     requests of one execution to the model are one conversation, and only a new driver repeats a request (treecheck.go);
//   - no execution is given up: it neither fails nor waits for somebody to resume it, since nothing was wrong with it;
//   - and the oracle of all other tests, package eventstest.
//
// A run in which fewer than four of five operations succeeded proves nothing, and fails. So does one that breaks off: a server does
// not come back, nobody answers a request for three minutes, or it takes longer than twenty-five; then the logs of the servers say what every
// goroutine waited for.
//
// # Use
//
//	make chaos-short                          every block once; part of the whole check
//	make chaos MINUTES=30                     goes on, on this commit, with whatever is furthest from its goal
//	scripts/chaos.sh -block kill -seed 42 -v  one block again
//
// A seed repeats the plan of the faults and the mix of the load. How processes are scheduled it cannot repeat, so what one go in
// a hundred finds may need some. Where something is not as promised, the folder of the world stays, with the logs of its servers.
//
// # A new block
//
// Add a file with a function and a line to the list in block.go. This is a whole one:
//
//	func restart(r *run) {
//		w := newWorld(r, setup{name: "postgres", postgres: true, replicas: 2})
//		defer w.close()
//		w.load.start()                   // 24 executions are live from now on
//		for range r.cycles {
//			w.load.awaitLive(20)
//			r.sleep(r.dice.between(100*time.Millisecond, time.Second))
//			took := w.servers[0].restart()   // the fault; it ends the run where the server does not come back
//			r.took("restart to ready", took)
//			r.cycled()
//		}
//		w.load.settle(comeBack)          // nothing new, and all that is there ends
//		w.check()
//	}
//
// What a block finds by itself it says with r.expect and r.violate; what a client wanted and whether it got it with r.operation;
// figures for the report go to r.count and r.took. setup.database takes the URL of a database of the block's own: that of a
// storetest.Cluster that it takes down and up, or one behind a proxy. setup.env changes settings of the servers, setup.plan
// what executions do. A server is killed, launched and started by its methods, w.standStill pauses one; w.ask and w.insist send
// requests, w.follow and w.log read events. Parts of a block run at once with r.sideBySide, each with a world of its own and
// dice of its own (r.dice.own()).
package main

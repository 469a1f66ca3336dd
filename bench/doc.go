// Command bench measures Signoff against a floor on the same machine, at the same time.
//
// A figure in milliseconds says more about the machine than about the program: another machine, or another
// neighbour on this one, doubles it. So each figure stands beside that of a small program that did the same work in the same
// round. This is the hub (the reference, 1.00): it decodes each chunk of the model, numbers it, keeps it in memory, encodes it once and
// hands it to all followers. It stores nothing, but for the checkpoints of one figure. What Signoff costs beyond that is the price of its promises.
//
// The contenders take turns within a round, each round in another order, and a ratio is formed within one round. A noisy
// second then spoils a figure of one round, and not the median of the ratios. The short form has three rounds, so a noisy minute spoils the
// median, too; it judges the best round of a contender by the best one of the hub. Memory that no neighbour changes it measures once.
//
// The model is a script in a process of its own ([serveModel]). It stamps each chunk with the time at which it sends it, so a latency is that
// from the model's socket to the reader of the event stream. An external agent is a process of this program that sends the same text over its
// pipes; the hub starts it, too. CPU and memory are those of the contender's process, and of the database beside it, without the model and the
// client. Signoff runs as its users run it: the binary of
// cmd/server, SQLite with synchronous=FULL or a Postgres with fsync and synchronous_commit.
//
//	bench                 measures what this commit lacks, prints the table, exits 1 where a goal is missed
//	bench -only replay    measures one figure
//	bench -short          a few rounds of the figures that break most easily, the best of them against half of each goal
//
// A finished figure is a line in the results file, so a run that was interrupted goes on with the next one. docs/performance.md explains the
// figures one by one.
package main

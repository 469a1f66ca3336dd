//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// blocks are all there are. The order is that of the short form: the longest first, so that the others fit beside it.
var blocks = []block{
	{name: "failpoints", cycle: "death at a failpoint", short: 28, long: 1000, goal: 2400, run: sweep},
	{name: "innocent", cycle: "kill -9 while long answers stream", short: 12, long: 240, goal: 480, run: innocent},
	{name: "provider", cycle: "outage of the model's provider", short: 4, long: 8, goal: 16, run: provider},
	{name: "kill", cycle: "kill -9 of a server", short: 10, long: 60, goal: 1000, run: kill},
	{name: "trees", cycle: "tree of executions under kill -9", short: 6, long: 100, goal: 200, run: trees},
	{name: "postgres", cycle: "restart of Postgres", short: 4, long: 15, goal: 200, run: restarts},
	{name: "network", cycle: "fault of a connection", short: 8, long: 24, goal: 200, run: network},
	{name: "pause", cycle: "SIGSTOP beyond the lease", short: 6, long: 20, goal: 300, run: pause},
	{name: "disk", cycle: "full or slow disk", short: 5, long: 10, goal: 100, run: disk},
	{name: "hostile", cycle: "round of hostile models and agents", short: 1, long: 5, goal: 50, run: hostile},
	{name: "takeover", cycle: "death at the default lease", short: 1, long: 2, goal: 20, run: takeover},
	{name: "burst", cycle: "command among hundreds at once", short: 60, long: 500, goal: 1000, run: burst},
	{name: "deciders", cycle: "round of 32 deciders", short: 20, long: 100, goal: 1000, run: deciders},
	{name: "pending", cycle: "restart under open questions", short: 1, long: 1, goal: 10, alone: true, run: pending},
}

func blockNames() []string {
	names := make([]string, len(blocks))
	for i, b := range blocks {
		names[i] = b.name
	}
	return names
}

// choose finds blocks by their names; no name at all is every block.
func choose(names string) ([]block, error) {
	if names == "" {
		return blocks, nil
	}
	var chosen []block
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(blocks, func(b block) bool { return b.name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no block %q; there are %s", name, strings.Join(blockNames(), ", "))
		}
		chosen = append(chosen, blocks[at])
	}
	return chosen, nil
}

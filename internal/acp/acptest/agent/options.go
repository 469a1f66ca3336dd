package main

import (
	"flag"
	"strings"
)

// options are the command line.
type options struct {
	script    *script
	state     string
	noLoad    bool
	resume    bool
	loadFails bool
	forget    bool
	replay    string
	protocol  int
	auth      string
	modes     words
	models    words
	config    string
	mcp       words
	takes     words
	reexec    string
}

// words is a flag of the form a,b,c.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(value string) error {
	*w = strings.Split(value, ",")
	return nil
}

func readOptions(flags *flag.FlagSet, arguments []string) (*options, error) {
	o := &options{script: newScript()}
	flags.Var(o.script, "script", "`FILE or text` with steps for phases, in lines such as \"new: crash 3\"")
	for _, name := range []string{"crash", "hang"} {
		flags.Func(name, name+" at a `PHASE`, before its answer", func(phase string) error {
			return o.script.add(phase + ": " + name)
		})
	}
	flags.StringVar(&o.state, "state", "", "`FOLDER` for sessions (default $HOME/.scripted-agent)")
	flags.BoolVar(&o.noLoad, "no-load", false, "do not offer session/load")
	flags.BoolVar(&o.resume, "resume", false, "offer session/resume")
	flags.BoolVar(&o.loadFails, "load-fails", false, "offer session/load and refuse it")
	flags.BoolVar(&o.forget, "forget", false, "a session that is taken up has lost its settings")
	flags.StringVar(&o.replay, "replay", "before", "replay a loaded session `before` its answer or after it")
	flags.IntVar(&o.protocol, "protocol", 1, "`VERSION` to answer initialize with")
	flags.StringVar(&o.auth, "auth", "", "`METHOD` of authentication that sessions require")
	flags.Var(&o.modes, "modes", "modes to offer, `A,B`; the first one is current")
	flags.Var(&o.models, "models", "models to offer, `A,B`; the first one is current")
	flags.StringVar(&o.config, "config", "", "offer configOptions, too: `plain`, or with an effort, or odd, with types that nobody knows")
	flags.Var(&o.mcp, "mcp", "MCP capabilities, of `http,sse`")
	flags.Var(&o.takes, "takes", "what prompts may have beside text, of `image,embeddedContext`; anything else is refused")
	flags.StringVar(&o.reexec, "reexec", "", "start the agent anew as a child and `stay` beside it, or leave")
	return o, flags.Parse(arguments)
}

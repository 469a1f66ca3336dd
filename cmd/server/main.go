// Command signoff runs AI agents for runbooks and holds their tool calls until a person signs off.
//
// It alone reads the environment, the command line and the configuration file, and it alone knows all packages: main.go finds the
// sub-command, config.go reads the environment, configfile.go and readfile.go the configuration file, and app.go wires, starts and stops the
// server. Every other package is given plain values.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"signoff/internal/acp/relay"
	"signoff/internal/domain"
	_ "signoff/internal/sandbox/early" // a process that was started as a stage of a command does not get past this import
)

// Exit codes, as the documentation has them.
const (
	exitOK     = 0
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // it was not even tried: the command line, the configuration or the environment is wrong
)

func main() {
	relay.Intercept(os.Args, os.Environ()) // what starts an MCP server for an agent is this same binary, and does not get past this line
	if len(os.Args) == 3 && os.Args[1] == filesArg {
		if serveFiles(os.Args[2]) != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// command is one sub-command. Its error says why it failed; a wrong usage is a [usageError].
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, std stdio) error
}

func commands() []command {
	return []command{
		{"serve", "run the server (the default)", serve},
		{"console", "print the link that opens the console in a browser", console},
		{"demo", "show the whole thing once: an agent, a stream, an approval", demo},
		{"migrate", "bring the database to this version's schema", migrate},
		{"keys", "create, list and revoke API keys", manageKeys},
		{"mcp", "sign in to MCP servers, and list and end sign-ins", manageMCP},
		{"audit", "check that the record of what was done is whole", manageAudit},
		{"doctor", "tell what works on this machine: configuration, database, sandbox, models, agents", doctor},
		{"version", "print the version", func(_ context.Context, _ []string, std stdio) error {
			_, err := fmt.Fprintln(std.out, "signoff", version)
			return err
		}},
	}
}

// run finds the sub-command and turns its error into an exit code. The first signal ends the context, the second one
// the process.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "help" || name == "-h" || name == "--help" {
		usage(out)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == name {
			return exitCode(c.run(ctx, args, stdio{in: in, out: out, err: errOut}), errOut)
		}
	}
	fmt.Fprintf(errOut, "signoff: there is no command %q.\n\n", name)
	usage(errOut)
	return exitUsage
}

func usage(out io.Writer) {
	fmt.Fprint(out, "Signoff runs AI agents for runbooks and holds their tool calls until a person signs off.\n\nUsage: signoff [command]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprint(out, "\nSettings come from SIGNOFF_* variables and signoff.yaml; docs/configuration.md lists them.\n")
}

func exitCode(err error, errOut io.Writer) int {
	var (
		mistake usageError
		coded   *domain.Error
	)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp): // the flags of the command are printed already
		return exitOK
	case errors.As(err, &mistake):
		complain(errOut, mistake.Error())
		return exitUsage
	case errors.As(err, &coded):
		complain(errOut, sentence(coded))
		return exitFailed
	default:
		complain(errOut, err.Error())
		return exitFailed
	}
}

// complain bypasses the log, so it masks by itself, with the log's masker. That one knows at least the shapes of keys and of
// passwords in addresses: a database that cannot be reached is reported with where it should be.
func complain(out io.Writer, text string) {
	fmt.Fprintln(out, "signoff:", logMasker().MaskString(text))
}

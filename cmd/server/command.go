package main

import (
	"flag"
	"fmt"
	"io"

	"signoff/internal/domain"
)

// version is set by the release build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

// stdio are the standard streams of a command.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// flags returns the flags of a command. Their help goes to standard error.
func flags(name string, std stdio) *flag.FlagSet {
	set := flag.NewFlagSet("signoff "+name, flag.ContinueOnError)
	set.SetOutput(std.err)
	return set
}

// parse reads the arguments of a command that takes flags alone.
func parse(set *flag.FlagSet, args []string) error {
	if err := set.Parse(args); err != nil {
		return usageError{err}
	}
	if set.NArg() > 0 {
		return usagef("%s does not understand %q", set.Name(), set.Arg(0))
	}
	return nil
}

// parseName reads the arguments of a command that takes one name, with flags before and behind it.
func parseName(set *flag.FlagSet, args []string) (string, error) {
	if err := set.Parse(args); err != nil {
		return "", usageError{err}
	}
	name := set.Arg(0)
	if name == "" {
		return "", usagef("%s takes a name", set.Name())
	}
	return name, parse(set, set.Args()[1:])
}

// tenantFlag is the flag of a command that works for one tenant.
func tenantFlag(set *flag.FlagSet, usage string) *string {
	return set.String("tenant", string(domain.DefaultTenant), usage)
}

// asksForHelp reports whether the arguments of a command with sub-commands ask how it is used.
func asksForHelp(args []string) bool { return len(args) > 0 && isHelp(args[0]) }

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// first is the name of a sub-command; empty: there is none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// usageError is a mistake in the command line, the configuration or the environment. Its message says how to correct it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// sentence is the message of an error with its cause, which an operator may see and a client may not.
func sentence(e *domain.Error) string {
	if e.Cause == nil {
		return e.Message
	}
	return fmt.Sprintf("%s (%v)", e.Message, e.Cause)
}

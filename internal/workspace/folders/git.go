package folders

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Git runs git isolated: git sees the programs of the system and the folders of the [Command], and has no network.
type Git interface {
	// Run starts git, copies in to its standard input and its standard output to out, and returns when it has ended. An exit code other than 0 is an
	// [ExitError]. The end of ctx kills git. Several commands may run at once.
	Run(ctx context.Context, command Command, in io.Reader, out io.Writer) error
}

// Command is one run of git.
type Command struct {
	Argv  []string // the arguments after "git"
	Env   []string // NAME=value, beside the PATH
	Dir   string   // absolute; git starts there, and may write only there
	Read  bool     // git may not write Dir either
	Shown []string // absolute; other folders that git may read
	Home  string   // absolute; git finds the folder as its home, and may write it; empty: it has none
}

// ExitError is the error of a git that failed.
type ExitError struct {
	Code   int
	Stderr string // the beginning of its standard error
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("folders: git failed with exit code %d: %s", e.Code, e.Stderr)
}

// gitEnvironment makes git read only the configuration of the repository, ask for no password, and print its messages in English.
var gitEnvironment = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
}

// withoutPrograms are settings that override every program that a repository could make git run. git runs isolated anyway, but such a program could make it hang
// or write in the folder of the repository.
var withoutPrograms = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.alternateRefsCommand=true", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "diff.external=", "-c", "core.pager=cat", "-c", "submodule.recurse=false", "-c", "commit.gpgSign=false",
}

// run runs git and returns its output.
func (f *Folders) run(ctx context.Context, command Command) (string, error) {
	if f.git == nil {
		return "", errors.New("folders: there is no git")
	}
	command.Argv = append(append([]string{"git"}, withoutPrograms...), command.Argv...)
	command.Env = append(append([]string{}, gitEnvironment...), command.Env...)
	var out bytes.Buffer
	err := f.git.Run(ctx, command, nil, &limited{to: &out, left: maxOutput})
	return strings.TrimSuffix(out.String(), "\n"), err
}

// maxOutput bounds the output of one git.
const maxOutput = 16 << 20

var errTooMuch = errors.New("folders: git prints too much")

// limited ends a run that prints too much.
type limited struct {
	to   *bytes.Buffer
	left int
}

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errTooMuch
	}
	l.left -= len(p)
	return l.to.Write(p)
}

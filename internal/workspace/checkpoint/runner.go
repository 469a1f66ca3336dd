package checkpoint

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Runner runs a program isolated: it sees the programs of the system and what the [Command] names, and has no network.
type Runner interface {
	// Run starts the program, copies in to its standard input and its standard output to out, and returns when it has ended. An exit code other
	// than 0 is an [ExitError]. The end of ctx kills the program. Several may run at once.
	Run(ctx context.Context, command Command, in io.Reader, out io.Writer) error
}

// Command is a program that runs over a repository. The runner sets GIT_DIR to the place at which the program finds that, and GIT_WORK_TREE to the
// workspace, where there is one. The program starts in the workspace, or else in the repository.
type Command struct {
	Argv       []string // Argv[0] is looked up in the folders of the system
	Env        []string // NAME=value, beside the PATH
	Repository string   // the folder that it may write
	Workspace  string   // a folder that it may read, at the same path; empty: none
}

// ExitError is the end of a program that failed.
type ExitError struct {
	Code   int
	Stderr string // its beginning
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("checkpoint: git failed with exit code %d: %s", e.Code, e.Stderr)
}

// environment makes git read only the configuration of its repository, and print its messages in English. The last line makes malloc of glibc keep freed
// memory: git makes and frees a compressor of 256 KiB for each object, and by default the kernel takes back the memory and clears it each time, which took
// nine tenths of a first checkpoint of small files.
var environment = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
	"GIT_OPTIONAL_LOCKS=0", "LC_ALL=C",
	"MALLOC_TRIM_THRESHOLD_=67108864", "MALLOC_TOP_PAD_=16777216", "MALLOC_MMAP_THRESHOLD_=16777216",
}

// command is a program that runs over the repository.
func (r *Repository) command(workspace string, argv ...string) Command {
	return Command{Argv: argv, Env: environment, Repository: r.folder, Workspace: workspace}
}

// run runs a program over the repository and returns its output.
func (r *Repository) run(ctx context.Context, in io.Reader, workspace string, argv ...string) ([]byte, error) {
	var out bytes.Buffer
	err := r.runner.Run(ctx, r.command(workspace, argv...), in, &out)
	return out.Bytes(), err
}

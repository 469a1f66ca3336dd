// Package checkpointtest runs the git of checkpoints for the tests of other packages.
package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync/atomic"

	"signoff/internal/workspace/checkpoint"
)

// Git is a [checkpoint.Runner] that runs git without isolation, which takes a tenth of the time: what git does with a repository is the same. Its methods may be called at once.
type Git struct {
	Fails atomic.Bool // each command ends with an error
}

func (g *Git) Run(ctx context.Context, command checkpoint.Command, in io.Reader, out io.Writer) error {
	if g.Fails.Load() {
		return &checkpoint.ExitError{Code: 128, Stderr: "fatal: a test stops git"}
	}
	var stderr bytes.Buffer
	run := exec.CommandContext(ctx, command.Argv[0], command.Argv[1:]...)
	run.Env = append(command.Env, "PATH="+os.Getenv("PATH"), "HOME=/nowhere", "GIT_DIR="+command.Repository)
	run.Dir, run.Stdin, run.Stdout, run.Stderr = command.Repository, in, out, &stderr
	if command.Workspace != "" {
		run.Dir, run.Env = command.Workspace, append(run.Env, "GIT_WORK_TREE="+command.Workspace)
	}
	err := run.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &checkpoint.ExitError{Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

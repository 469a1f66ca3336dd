package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	_ "signoff/internal/sandbox/early" // the stages of a confined command are this program, too
)

// child runs a command of the hub and returns what it printed.
type child func(ctx context.Context, command string) ([]byte, error)

// bare is a shell without anything around it.
func bare(ctx context.Context, command string) ([]byte, error) {
	return exec.CommandContext(ctx, "/bin/sh", "-c", command).Output()
}

// confined is the child process of the server: the same isolation, by the same code. What is left between the two is what
// the service itself adds to a decision.
func confined(ctx context.Context) (_ child, remove func() error, err error) {
	box, err := sandbox.New(ctx, sandbox.Config{Mode: sandbox.ModeAuto})
	if err != nil {
		return nil, nil, err
	}
	folder, err := os.MkdirTemp("", "signoff-bench-hub-")
	if err != nil {
		return nil, nil, err
	}
	run := func(ctx context.Context, command string) ([]byte, error) {
		var printed bytes.Buffer
		_, err := box.Run(ctx, domain.Command{Argv: []string{"bash", "-c", command}, Dir: folder}, &printed)
		return printed.Bytes(), err
	}
	return run, func() error { return os.RemoveAll(folder) }, nil
}

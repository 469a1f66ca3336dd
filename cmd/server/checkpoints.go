package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/workspace/checkpoint"
)

// isolatedGit runs git for checkpoints, isolated as the commands of executions are.
type isolatedGit struct{ sandbox *sandbox.Sandbox }

// stderrLimit is how much of the errors of git is kept.
const stderrLimit = 4 << 10

// Run implements [checkpoint.Runner].
func (g isolatedGit) Run(ctx context.Context, command checkpoint.Command, in io.Reader, out io.Writer) error {
	program, err := systemProgram(command.Argv[0])
	if err != nil {
		return err
	}
	process := sandbox.Process{
		Argv: append([]string{program}, command.Argv[1:]...), Dir: command.Repository, Env: append(slices.Clone(command.Env), "GIT_DIR="+command.Repository),
		Environment: domain.Environment{Name: "checkpoints", View: domain.ViewWorkspace},
	}
	if command.Workspace != "" {
		process.Dir, process.Home, process.Environment.ReadOnly = command.Workspace, command.Repository, true
		process.Env = append(slices.Clone(command.Env), "GIT_DIR="+sandbox.ProcessHome, "GIT_WORK_TREE="+command.Workspace)
	}
	child, err := g.sandbox.Start(ctx, process)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, child.Kill)
	defer stop()
	fed := make(chan error, 1)
	go func() {
		fed <- feed(child, in)
	}()
	complaints := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(child.Stderr, stderrLimit))
		_, _ = io.Copy(io.Discard, child.Stderr)
		complaints <- string(text)
	}()
	_, readErr := io.Copy(out, child.Stdout)
	if readErr != nil { // nobody reads its output any more, so it would wait for ever
		child.Kill()
		_, _ = io.Copy(io.Discard, child.Stdout)
	}
	<-child.Done()
	stderr := <-complaints
	if exit := child.Exit(); exit.Code != 0 {
		return errors.Join(context.Cause(ctx), &checkpoint.ExitError{Code: exit.Code, Stderr: strings.TrimSpace(stderr + exit.Trouble)})
	}
	return errors.Join(readErr, <-fed)
}

// systemProgram finds a program where an isolated process finds it, too. The server's own PATH may name folders that are not there inside.
func systemProgram(name string) (string, error) {
	for _, folder := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		if path, err := exec.LookPath(folder + "/" + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed in a folder of the system", name)
}

// feed writes the input, and closes it. A program that has ended need not have read all of it.
func feed(child *sandbox.Child, in io.Reader) error {
	defer child.Stdin.Close()
	if in == nil {
		return nil
	}
	_, err := io.Copy(child.Stdin, in)
	return err
}

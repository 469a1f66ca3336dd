package main

import (
	"context"
	"os"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/sessions"
	"signoff/internal/workspace"
	"signoff/internal/workspace/inside"
)

// filesArg is the hidden argument of the process that opens files inside a sandbox.
const filesArg = "__files"

// openFiles starts a process that opens files as a command of the environment would.
func openFiles(box *sandbox.Sandbox) sessions.OpenFiles {
	return func(ctx context.Context, directory string, e domain.Environment) (sessions.Files, error) {
		child, err := box.Start(ctx, sandbox.Process{Argv: []string{sandbox.OwnProgram, filesArg, directory}, Dir: directory, Environment: e})
		if err != nil {
			return nil, err
		}
		return &processFiles{inside.NewClient(child.Stdin, child.Stdout, child.Kill), child}, nil
	}
}

// processFiles are the files of such a process.
type processFiles struct {
	*inside.Client
	child *sandbox.Child
}

// Close ends the process, and waits for its end.
func (f *processFiles) Close() {
	f.child.Kill()
	<-f.child.Done()
	f.child.Stdout.Close()
	f.child.Stderr.Close()
}

// serveFiles is that process.
func serveFiles(directory string) error {
	return inside.Serve(os.Stdin, os.Stdout, directory, workspace.Guards{Names: sandbox.Trusted(), Git: sandbox.GitParts()})
}

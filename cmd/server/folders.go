package main

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/workspace"
	"signoff/internal/workspace/folders"
)

// openFolders opens the own folders of executions. Each database has a folder of its own for them: a server with another database would remove them as folders
// that nobody needs.
func (a *App) openFolders(ctx context.Context, files *workspace.Workspace) (*folders.Folders, error) {
	key, err := a.store.ServerKey(ctx, "folders")
	if err != nil {
		return nil, err
	}
	opened, err := folders.Open(folders.Config{
		Base: filepath.Join(a.config.workspacesDir(), hex.EncodeToString(key[:4])),
		Git:  cloningGit{a.sandbox}, HomeInside: sandbox.ProcessHome, NoGit: noCheckpoints(a.sandbox),
		Hidden: files.Hidden(), Bounds: folders.DefaultCopyBounds,
	})
	if err != nil {
		return nil, usagef("the folder of workspaces: %w", err)
	}
	return opened, nil
}

// cloningGit runs git for own folders, isolated as the commands of executions are.
type cloningGit struct{ sandbox *sandbox.Sandbox }

// Run implements [folders.Git].
func (g cloningGit) Run(ctx context.Context, command folders.Command, in io.Reader, out io.Writer) error {
	program, err := systemProgram(command.Argv[0])
	if err != nil {
		return err
	}
	environment := domain.Environment{Name: "workspaces", View: domain.ViewWorkspace, ReadOnly: command.Read}
	if len(command.Shown) > 0 {
		environment.Clone = &domain.Clone{Folder: command.Dir, ObjectStores: command.Shown}
	}
	exit, err := runIsolated(ctx, g.sandbox, sandbox.Process{
		Argv: append([]string{program}, command.Argv[1:]...), Dir: command.Dir, Env: command.Env, Home: command.Home, Environment: environment,
	}, in, out)
	if exit != nil {
		return errors.Join(err, &folders.ExitError{Code: exit.code, Stderr: exit.stderr})
	}
	return err
}

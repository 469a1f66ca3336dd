package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/checkpoints"
	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/sessions"
	"signoff/internal/store"
	"signoff/internal/workspace"
	"signoff/internal/workspace/checkpoint"
	"signoff/internal/workspace/writers"
)

// recorder has the service of checkpoints and the observer of other programs.
type recorder struct {
	*checkpoints.Service
	observer *writers.Observer // nil: this server cannot see other programs write
}

// Close closes the observer.
func (r recorder) Close() error {
	if r.observer == nil {
		return nil
	}
	return r.observer.Close()
}

// openCheckpoints opens the service of checkpoints. Without git or a sandbox the service takes none.
func (f configFile) openCheckpoints(ctx context.Context, c Config, s *store.Store, box *sandbox.Sandbox, files *workspace.Workspace) (r recorder, err error) {
	bounds, err := f.checkpointBounds()
	if err != nil {
		return r, err
	}
	if why := noCheckpoints(box); why != "" {
		return recorder{Service: checkpoints.New(checkpoints.Config{Unavailable: why})}, nil
	}
	folder, err := filepath.Abs(c.checkpointDir())
	if err != nil {
		return r, usagef("the folder of checkpoints: %w", err)
	}
	if folder, err = ofDatabase(ctx, s, folder); err != nil {
		return r, err
	}
	repositories, err := checkpoint.NewStore(isolatedGit{box}, folder, bounds)
	if err != nil {
		return r, usagef("the folder of checkpoints: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	config := checkpoints.Config{
		Store: repositories, Hidden: files.Hidden(), Host: host, Place: files.Place, Secret: sandbox.HoldsSecret,
	}
	if r.observer, err = writers.New(); err != nil {
		slog.Debug("programs outside this server cannot be seen to write beside a command", "reason", err)
		r.observer = nil
	} else {
		config.Observe = func(folder string, excluded ...string) (func() bool, error) {
			watch, err := r.observer.Watch(folder, excluded...)
			if err != nil {
				return nil, err
			}
			return func() bool { return !watch.Stop().None() }, nil
		}
	}
	r.Service = checkpoints.New(config)
	return r, nil
}

// ofDatabase returns the folder of one database. Servers with other databases may share the folder above it. In one folder they would remove each other's data:
// a pruning removes the checkpoints of every execution that its database does not have.
func ofDatabase(ctx context.Context, s *store.Store, folder string) (string, error) {
	key, err := s.ServerKey(ctx, "checkpoints")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(folder, hex.EncodeToString(sum[:8])), nil
}

// checkpointBounds returns the bounds of the size of checkpoints.
func (f configFile) checkpointBounds() (checkpoint.Bounds, error) {
	bounds := checkpoint.DefaultBounds
	for name, set := range map[string]struct {
		from *int64
		to   *int64
	}{"maxBytesPerWorkspace": {f.Checkpoints.MaxBytesPerWorkspace, &bounds.Workspace}, "maxBytes": {f.Checkpoints.MaxBytes, &bounds.All}} {
		switch {
		case set.from == nil:
		case *set.from < 1<<20:
			return bounds, f.mistake(domain.Invalid("/checkpoints/"+name, "This is a number of bytes, at least 1048576."))
		default:
			*set.to = *set.from
		}
	}
	return bounds, nil
}

// noCheckpoints returns why this server takes no checkpoints; empty: it takes them.
func noCheckpoints(box *sandbox.Sandbox) string {
	switch box.Name() {
	case sessions.NoSandbox:
		return "This server cannot isolate commands, and it runs git in isolation alone."
	case "off":
		return "The sandbox of this server is off, and it runs git in isolation alone."
	}
	if _, err := systemProgram("git"); err != nil {
		return "git is not installed in a folder of the system."
	}
	return ""
}

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
	exit, err := runIsolated(ctx, g.sandbox, process, in, out)
	if exit != nil {
		return errors.Join(err, &checkpoint.ExitError{Code: exit.code, Stderr: exit.stderr})
	}
	return err
}

// failedExit is the exit of a program that failed.
type failedExit struct {
	code   int
	stderr string // the beginning of its standard error
}

// runIsolated runs a program, copies in to its standard input and its standard output to out, and returns when it has ended. exit is nil if it has not failed.
func runIsolated(ctx context.Context, box *sandbox.Sandbox, process sandbox.Process, in io.Reader, out io.Writer) (exit *failedExit, err error) {
	child, err := box.Start(ctx, process)
	if err != nil {
		return nil, err
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
		return &failedExit{exit.Code, strings.TrimSpace(stderr + exit.Trouble)}, context.Cause(ctx)
	}
	return nil, errors.Join(readErr, <-fed)
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

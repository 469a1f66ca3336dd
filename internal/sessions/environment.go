package sessions

import (
	"context"
	"io/fs"
	"sync"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/workspace"
)

// Environments is the catalog of environments.
type Environments interface {
	Choose(choice domain.EnvironmentChoice) (domain.Environment, error)
	Directories(choice domain.EnvironmentChoice) []string // folders beside the workspace in which an execution may work
}

// Files reads and changes files for the tools of an execution.
type Files interface {
	Open(ctx context.Context, path string) (fs.File, error)
	List(ctx context.Context, path string) ([]fs.DirEntry, error)
	// Change makes all of the changes or none. Before each file it asks still, whose error undoes them.
	Change(ctx context.Context, changes []domain.FileChange, still func() error) error
	Close()
}

// OpenFiles opens the files that commands see in an environment that shows more than the workspace.
type OpenFiles func(ctx context.Context, directory string, e domain.Environment) (Files, error)

// environment is what the commands and file tools of an execution see of the machine. Its methods may be called by several goroutines at once.
type environment struct {
	domain.Environment
	err       error // why it cannot be had on this server: commands and file tools are refused
	directory string
	workspace *workspace.Workspace
	open      OpenFiles

	holdsAgent bool // the process of an external agent runs in it

	mu    sync.Mutex
	files Files // of an environment that shows more than the workspace; nil: not opened yet
}

// environment resolves the choice of an execution by the definitions of today. One that an older server has created has made no choice, and sees the
// workspace alone. If the environment is not defined any more, shows less than the request has chosen, or does not hold the working directory, commands
// and file tools are refused: another environment could show more than the request was given.
func (e *Engine) environment(request domain.Request) *environment {
	made := &environment{directory: request.WorkingDirectory, workspace: e.workspace, open: e.openFiles}
	choice := request.Environment
	if choice.Name == "" || e.environments == nil {
		return made
	}
	made.Environment, made.err = e.environments.Choose(choice)
	if made.err == nil {
		made.err = e.misplaced(request)
	}
	made.Environment.Clone = request.Clone
	if made.err != nil {
		made.Environment = domain.Environment{Name: choice.Name, View: made.View}
		made.err = unavailableNow(choice.Name, made.err)
	}
	return made
}

// misplaced refuses a working directory that is in no workspace of today and in no mount that the environment may write. An execution of an older
// server stays where it is.
func (e *Engine) misplaced(request domain.Request) error {
	choice := request.Environment
	if choice.Name == "" || e.environments == nil || e.workspace.Holds(request.WorkingDirectory, e.environments.Directories(choice)...) {
		return nil
	}
	return domain.Errorf(domain.CodeEnvironmentUnavailable,
		"The folder %s is in no workspace of this server any more, and in none that the environment may write.", request.WorkingDirectory)
}

// unavailableNow gives an error of a definition that has changed the code of one that this machine cannot build: the request was good.
func unavailableNow(name string, err error) error {
	if domain.CodeOf(err) == domain.CodeEnvironmentUnavailable {
		return err
	}
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s of this execution cannot be had any more: %s", name, domain.FailureOf(err).Message).With(err)
}

// now is the environment by the operator's present definition; nil for an execution that has made no choice.
func (e *environment) now() *domain.Environment {
	if e.Name == "" {
		return nil
	}
	return &e.Environment
}

// environmentOf is what a call sees of the machine; nil: the execution has made no choice, or an external agent runs the call outside of any environment.
func (c core) environmentOf(asked *call) *domain.Environment {
	if asked.ask.outside() || asked.ask == nil && c.external() && !c.environment.holdsAgent {
		return nil
	}
	return c.environment.now()
}

// concerns reports whether a call of our own agent would run in the environment: a command, or a tool for files. A call that may have run already
// is left to a person.
func (e *environment) concerns(c *call) bool {
	return c.ask != nil && c.ask.ours() && !c.outcomeUnknown() && !c.paused() && !c.ask.client && (c.Class == domain.ClassExecute || len(c.Action.Paths) > 0)
}

// hash identifies a call in the environment that it runs in.
func (c core) hash(asked *call) (string, error) {
	return approvals.Hash(asked.ToolCall, c.execution.Request.WorkingDirectory, c.environmentOf(asked).Stamp())
}

// changedFor tells whether a question was about another definition of the call's environment than the present one.
func (c core) changedFor(asked *call, row domain.Approval) bool {
	return row.Kind != domain.ApprovalUnknownOutcome && !asked.paused() && !row.Environment.Stamp().Same(c.environmentOf(asked).Stamp())
}

// confinedBy is the name of the sandbox that confines a call where it is a command that we run; empty otherwise. Everybody who looks at the call
// sees it.
func (c core) confinedBy(asked *call) string {
	switch {
	case asked.Class != domain.ClassExecute || asked.ask == nil || !asked.ask.ours() || asked.ask.client:
		return ""
	case c.environment.View == domain.ViewHost:
		return unconfined
	default:
		return c.engine.sandbox.Name()
	}
}

// agentConfinedBy is the name of the sandbox that confines the process of an external agent.
func (c core) agentConfinedBy(isolated bool) string {
	if isolated {
		return c.engine.sandbox.Name()
	}
	return unconfined
}

// unconfined is the name of a sandbox without isolation.
const unconfined = "off"

// access returns the files that the tools of the execution see. In the workspace these are opened by the server; elsewhere by a process that sees what
// a command sees.
func (e *environment) access(ctx context.Context) (Files, error) {
	switch {
	case e.err != nil:
		return nil, e.err
	case !e.ShowsMore():
		return workspaceFiles{e}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files == nil {
		files, err := e.open(ctx, e.directory, e.Environment)
		if err != nil {
			return nil, err
		}
		e.files = files
	}
	return e.files, nil
}

// close ends the process that opens files. It may be opened again.
func (e *environment) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files != nil {
		e.files.Close()
		e.files = nil
	}
}

// workspaceFiles are the files of the working directory.
type workspaceFiles struct{ *environment }

func (f workspaceFiles) Open(_ context.Context, path string) (fs.File, error) {
	return f.workspace.Open(f.directory, path)
}

func (f workspaceFiles) List(_ context.Context, path string) ([]fs.DirEntry, error) {
	return f.workspace.List(f.directory, path)
}

func (f workspaceFiles) Change(_ context.Context, changes []domain.FileChange, still func() error) error {
	if f.ReadOnly {
		return domain.Errorf(domain.CodePolicyDenied, "The environment of this execution is read-only.")
	}
	return f.workspace.Change(f.directory, changes, still)
}

func (workspaceFiles) Close() {}

// IsolationIn is the isolation of commands in one environment, as permission rules see it.
func IsolationIn(sandbox Sandbox, e domain.Environment) approvals.Isolation {
	return isolation{sandbox, e}
}

type isolation struct {
	sandbox     Sandbox
	environment domain.Environment
}

// Reaches implements [approvals.Isolation].
func (i isolation) Reaches(dir string, write bool) []string {
	return i.sandbox.Reaches(dir, i.environment, write)
}

// Keeps implements [approvals.Isolation].
func (i isolation) Keeps(ctx context.Context, dir string, denied domain.Denied) error {
	return i.sandbox.Keeps(ctx, dir, i.environment, denied)
}

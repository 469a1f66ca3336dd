package sessions

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/budgets"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/secrets"
	"signoff/internal/store"
	"signoff/internal/workspace"
)

// Engine is what the sessions of one server share, and makes them. Its [Dispatcher] decides which executions get a session, and
// when. Its methods may be called at once.
type Engine struct {
	dispatch  Dispatcher
	store     Store
	log       *events.Log
	agents    map[domain.SourceType]OpenAgent
	sandbox   Sandbox
	workspace *workspace.Workspace
	vault     Vault
	masker    *secrets.Masker
	ledger    Ledger

	environments Environments
	servers      approvals.Servers
	openFiles    OpenFiles
	guide        Guide

	judges      Judge
	maxEvents   int
	parkAfter   time.Duration
	drainGrace  time.Duration
	commands    *commandQueue
	trees       *treeLocks // held while files of a tree change
	delegates   Delegates
	checkpoints Checkpoints
	folders     Folders
	draining    <-chan struct{} // closes with the drain

	committed func(domain.ExecutionID, int64, *domain.Progress) // see [Config]; nil but in tests
	wallClock func() time.Time
}

// Dispatcher starts sessions, and the sessions report to it, each from its own goroutine.
type Dispatcher interface {
	// Recovered reports that a session has read the log and the rows of an earlier driver.
	Recovered(s *Session)
	// Release releases an execution that nobody drives here any more.
	Release(id domain.ExecutionID, epoch int64)
	// Exited reports that a session and its agent have ended. It is the last call of a session.
	Exited(s *Session)
	// Enqueued reports that a session has queued children.
	Enqueued()
	// Yield reports whether a session only waits for its children or its parent. Then its place is free for others: otherwise waiting parents could hold all
	// places, and their children would get none.
	Yield(id domain.ExecutionID, yields bool)
	// Draining closes when the server begins to shut down.
	Draining() <-chan struct{}
	// HoldsLease is nil as long as this server may write.
	HoldsLease() error
}

// Store is the part of the store that sessions read, and the agents' notes, which are written without an event.
type Store interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	Events(ctx context.Context, id domain.ExecutionID, after int64, limit int) ([]domain.Event, error)
	AnswerStates(ctx context.Context, id domain.ExecutionID) ([]domain.AnswerState, error)
	PausedRequests(ctx context.Context, id domain.ExecutionID) ([]domain.PausedRequest, error)
	ApprovalsOf(ctx context.Context, id domain.ExecutionID) ([]domain.Approval, error)
	Rules(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error)
	MCPPin(ctx context.Context, tenant domain.TenantID, server, tool string) (*domain.MCPPin, error)
	EventsOfType(ctx context.Context, id domain.ExecutionID, of domain.EventType, after int64, limit, bytes int) ([]domain.Event, error)
	Below(ctx context.Context, root domain.ExecutionID) ([]domain.ExecutionID, error)
	JournalRollback(ctx context.Context, w store.RollbackWriter, journal json.RawMessage) error
	Memory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope) (domain.Memory, error)
	SaveMemory(ctx context.Context, tenant domain.TenantID, save store.MemorySave) (domain.Memory, error)
	ControlRequests(ctx context.Context, id domain.ExecutionID) (store.ControlRequests, error)
	ClientCalls(ctx context.Context, id domain.ExecutionID, ids ...string) ([]domain.ClientCall, error)
	NewestGeneration(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (*domain.Generation, error)
	EditedDocument(ctx context.Context, id domain.ExecutionID) (*domain.Document, error)
	LiveAt(ctx context.Context, tenant domain.TenantID, place string) ([]domain.ExecutionID, error)
	Head(ctx context.Context, id domain.ExecutionID) (store.Head, error)
	Children(ctx context.Context, parent domain.ExecutionID) ([]domain.Child, error)
	TreeSize(ctx context.Context, root domain.ExecutionID) (int, error)
	// Neighbours returns up to limit live executions of the tenant that work in the folder of an execution, in a folder in it, or in a folder around it.
	Neighbours(ctx context.Context, of domain.Execution, limit int) ([]domain.ExecutionID, error)
	ViewedFiles
	ExecutionFile(ctx context.Context, execution domain.ExecutionID, id domain.FileID) (domain.File, []byte, error)
	SaveFile(ctx context.Context, tenant domain.TenantID, file store.NewFile) (domain.File, error)
}

var _ Store = (*store.Store)(nil)

// Folders makes the own folders of executions.
type Folders interface {
	// Make makes the own folder of an execution before its first turn, unless the folder is there. It may take minutes, and stops when ctx ends.
	Make(ctx context.Context, execution domain.Execution) error
}

// OpenAgent makes the agent of an execution. It may take its time, and stops when ctx ends. If it cannot load the agent session,
// the error is domain.CodeNotResumable.
type OpenAgent func(ctx context.Context, opening domain.Opening) (domain.Agent, error)

// NoSandbox is the name of the sandbox that cannot confine a command and runs none.
const NoSandbox = "none"

// Sandbox runs the commands of tools. It keeps everything in [domain.Command.Denied] from them, or does not begin.
type Sandbox interface {
	Name() string
	// Reaches and Keeps are those of [approvals.Isolation], for the commands of an environment.
	Reaches(dir string, e domain.Environment, write bool) []string
	Keeps(ctx context.Context, dir string, e domain.Environment, denied domain.Denied) error
	Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error)
}

// Vault gives commands the secrets that they name.
type Vault interface {
	// Environment returns NAME=value for each name, or an error if one is missing.
	Environment(names []string) ([]string, error)
}

// Ledger gives out the budgets that executions share.
type Ledger interface {
	// Daily is the daily budget of a tenant; without one it is the zero value.
	Daily(tenant domain.TenantID) domain.SharedBudget
	// Reserve implements [domain.Host.Reserve].
	Reserve(ctx context.Context, by budgets.Holder, request domain.Estimate) (domain.Reservation, error)
	// Share is the portion that a turn of an external agent reserves at a time; shared is false if the execution shares no budget.
	Share(of budgets.Holder) (share domain.Estimate, shared bool)
	// Release ends the reservations of earlier drivers.
	Release(ctx context.Context, of budgets.Holder) error
}

// Config is how sessions are wired.
type Config struct {
	ParkAfter   time.Duration // how long an execution that waits for somebody keeps its session; 0 = 1 min
	DrainGrace  time.Duration // how long running calls may take to end on a drain; 0 = 10 s
	MaxEvents   int           // in the log of an execution; some hundreds of them are reserved for its end
	MaxCommands int           // that run at once
	Agents      map[domain.SourceType]OpenAgent
	Sandbox     Sandbox
	Workspace   *workspace.Workspace
	Vault       Vault
	Ledger      Ledger // nil: executions share no budget

	Environments Environments // nil: every execution sees the workspace alone
	OpenFiles    OpenFiles    // of environments that show more
	Guide        Guide        // nil: models are not told what they see

	Delegates Delegates // nil: no execution may delegate

	Checkpoints Checkpoints // nil: no execution takes any

	Folders Folders // nil: no execution has an own folder

	Servers approvals.Servers // how far MCP servers are trusted; nil: not at all

	Masker *secrets.Masker // of what is written; nil knows only the shapes of common keys
	Judge  Judge           // nil = approvals.Policy.Judge

	// committed is called after each commit of a session, in its goroutine; for tests.
	committed func(id domain.ExecutionID, seq int64, progress *domain.Progress)
	// wallClock is the time of day; nil = time.Now.
	wallClock func() time.Time
}

// NewEngine returns an engine whose sessions report to a dispatcher.
func NewEngine(config Config, s Store, log *events.Log, dispatch Dispatcher) *Engine {
	e := &Engine{
		dispatch: dispatch, store: s, log: log, agents: config.Agents, sandbox: config.Sandbox, workspace: config.Workspace, vault: config.Vault, environments: config.Environments, servers: config.Servers, openFiles: config.OpenFiles, guide: config.Guide,
		masker: config.Masker, judges: config.Judge, maxEvents: config.MaxEvents, parkAfter: config.ParkAfter, drainGrace: config.DrainGrace,
		commands: newCommandQueue(config.MaxCommands), trees: newTreeLocks(), delegates: config.Delegates, checkpoints: config.Checkpoints, folders: config.Folders, draining: dispatch.Draining(),
		committed: config.committed, wallClock: config.wallClock, ledger: config.Ledger,
	}
	if e.ledger == nil {
		e.ledger = budgets.NewLedger(nil, "", nil)
	}
	if e.wallClock == nil {
		e.wallClock = time.Now
	}
	if e.judges == nil {
		e.judges = approvals.Policy.Judge
	}
	if e.drainGrace == 0 {
		e.drainGrace = 10 * time.Second
	}
	if e.parkAfter == 0 {
		e.parkAfter = time.Minute
	}
	return e
}

// Commands counts the commands of this server that run, and those that wait for a slot.
func (e *Engine) Commands() (running, waiting int) { return e.commands.counts() }

func (e *Engine) isDraining() bool {
	select {
	case <-e.draining:
		return true
	default:
		return false
	}
}

func (e *Engine) open(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
	if opening.Execution.Request.OwnFolder != nil && e.folders != nil {
		if err := e.folders.Make(ctx, opening.Execution); err != nil {
			return nil, err
		}
	}
	source := opening.Execution.Request.Source.Type
	open, known := e.agents[source]
	if !known {
		return nil, domain.Errorf(domain.CodeInvalid, "This server has no agents of type %s.", source)
	}
	if source == domain.SourceACP { // its process would work in the folder, whatever its calls are answered
		if err := e.misplaced(opening.Execution.Request); err != nil {
			return nil, err
		}
	}
	return open(ctx, opening)
}

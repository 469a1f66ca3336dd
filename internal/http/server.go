package http

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"signoff/internal/admission"
	"signoff/internal/approvals"
	"signoff/internal/console"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/events/items/paging"
	"signoff/internal/http/contract"
	"signoff/internal/http/stream"
	"signoff/internal/keys"
	"signoff/internal/store"
)

// Sessions starts and stops executions.
type Sessions interface {
	// Start creates an execution and begins to drive it. Replayed reports that an equal request had created it before; another body with
	// the same key is domain.CodeIdempotencyMismatch. A resumeFrom that cannot be resumed is domain.CodeNotResumable, an unknown one
	// domain.CodeInvalid.
	Start(ctx context.Context, tenant domain.TenantID, by domain.Actor, request domain.Request,
		idempotency *store.Idempotency) (execution domain.Execution, replayed bool, err error)

	// Prompt queues a further prompt with a text and a WhenBusy. Replayed reports that an equal request had sent it before. Errors about
	// the state: domain.CodeBusy, CodeClosed, CodeExecutionEnded.
	Prompt(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
		idempotency *store.Idempotency) (accepted domain.QueuedPrompt, replayed bool, err error)

	// Close ends an execution after its queued prompts. It does not wait for the end. An execution that has ended in another status is
	// domain.CodeExecutionEnded.
	Close(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) (domain.Execution, error)

	// Resume continues an interrupted execution. Errors: domain.CodeNotInterrupted; domain.CodeConflict if another mode was chosen;
	// domain.CodeNotResumable if the agent's session cannot be loaded.
	Resume(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, mode domain.ResumeMode,
		by domain.Actor) (domain.Execution, error)

	// Writable reports whether the database accepts writes.
	Writable() bool

	// Cancel stops an execution. It does not wait for the end. An execution that has ended in another status is
	// domain.CodeExecutionEnded.
	Cancel(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, reason string,
		by domain.Actor) (domain.Execution, error)

	// AnswerClient takes the result of a call that the client has run. It returns the current call, also with an error about its state:
	// domain.CodeAlreadyAnswered after another result, domain.CodeCallEnded if the call no longer waits.
	AnswerClient(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, toolCallID string,
		answer domain.ClientAnswer) (domain.ClientCall, error)

	// Edit queues a prompt that changes a generation of blocks; the number 0 is the submitted one. Errors are those of Prompt, and
	// domain.CodeNoGeneration.
	Edit(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
		idempotency *store.Idempotency) (accepted domain.QueuedPrompt, replayed bool, err error)

	// Accept accepts blocks and ends the execution. Errors about the state: domain.CodeNoGeneration, CodeBusy, CodeDocumentChanged,
	// CodeExecutionEnded.
	Accept(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, acceptance store.Acceptance) (domain.Execution, error)

	// Delete deletes an execution, and cancels a live one first. The API hides it at once; its rows are removed afterwards.
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) error

	// AwaitRemoval waits until no row of a deleted execution is left, and reports whether that happened in time.
	AwaitRemoval(ctx context.Context, id domain.ExecutionID, wait time.Duration) (gone bool, err error)
}

// Approvals takes decisions and stores permission rules.
type Approvals interface {
	// Decide returns the current approval, also with an error about its state.
	Decide(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID, answer approvals.Answer) (domain.Approval, error)
	// CreateRule stores a rule. A bad rule is domain.CodeInvalid, an unknown execution domain.CodeNotFound. Replayed reports that an equal
	// request with the same key had created it before.
	CreateRule(ctx context.Context, rule domain.PermissionRule, key, channel string) (created domain.PermissionRule, replayed bool, err error)
	RevokeRule(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (domain.PermissionRule, error)
	// Evaluate judges a call without making it.
	Evaluate(ctx context.Context, evaluation approvals.Evaluation) (approvals.Judgement, domain.ToolCall, error)
}

// Log follows executions.
type Log interface {
	Follow(ctx context.Context, id domain.ExecutionID, after int64) (*events.Follower, error)
	// FollowBy is Follow with a head that the caller reads, together with the owner of the execution.
	FollowBy(id domain.ExecutionID, after int64, read func() (store.Head, error)) (*events.Follower, error)
	// FollowAll follows all executions of a tenant behind a cursor, and FollowNew from now on.
	FollowAll(ctx context.Context, tenant domain.TenantID, after store.FeedCursor) (*events.FeedFollower, error)
	FollowNew(ctx context.Context, tenant domain.TenantID) (*events.FeedFollower, error)
	// FollowTree follows a root and the executions below it behind a cursor.
	FollowTree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID, after store.FeedCursor) (*events.TreeFollower, error)
}

// Reader reads the store. An object of another tenant is domain.CodeNotFound.
type Reader interface {
	RuleReader
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	HeadOf(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (store.Head, error)
	// QueuePosition is 1 for the execution of the tenant that starts next, and 0 for one that is not in the queue.
	QueuePosition(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (int, error)
	Executions(ctx context.Context, tenant domain.TenantID, filter store.ExecutionFilter) (store.Page[domain.Execution], error)
	// Neighbours returns up to limit live executions of the tenant that work in the folder of an execution, in a folder in it, or in a folder around it.
	Neighbours(ctx context.Context, of domain.Execution, limit int) ([]domain.ExecutionID, error)
	// Tree returns a root, and the executions below it by the time of their creation.
	Tree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID) ([]domain.Execution, error)
	// Children returns the children of an execution, by the time of their creation.
	Children(ctx context.Context, parent domain.ExecutionID) ([]domain.Child, error)
	// EventPage returns the events behind a seq, up to limit and about maxBytes, and at least one if there is any.
	EventPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.Event, error)
	Approval(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID) (domain.Approval, error)
	Approvals(ctx context.Context, tenant domain.TenantID, filter store.ApprovalFilter) (store.Page[domain.Approval], error)
	ApprovalsOf(ctx context.Context, execution domain.ExecutionID) ([]domain.Approval, error)
	// ClientCalls returns the calls that wait for the client, oldest first; with ids, those calls in any state.
	ClientCalls(ctx context.Context, execution domain.ExecutionID, ids ...string) ([]domain.ClientCall, error)
	// NewestGeneration returns a generation without its blocks, or nil; Generations returns all, by number.
	NewestGeneration(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) (*domain.Generation, error)
	Generations(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.Generation, error)
	// ClientCallPage and PromptPage return the rows behind an id, in any state, up to limit; an empty id is the beginning.
	ClientCallPage(ctx context.Context, execution domain.ExecutionID, after string, limit int) ([]domain.ClientCall, error)
	PromptPage(ctx context.Context, execution domain.ExecutionID, after domain.PromptID, limit int) ([]domain.QueuedPrompt, error)
	// EventsOfType returns the events of one type after a seq, up to limit and about maxBytes, and at least one if there is any.
	EventsOfType(ctx context.Context, execution domain.ExecutionID, of domain.EventType, after int64, limit, maxBytes int) ([]domain.Event, error)
	// Rollbacks returns the rollbacks of an execution, by number.
	Rollbacks(ctx context.Context, execution domain.ExecutionID) ([]domain.Rollback, error)
	// DebugPage returns the raw messages behind a number, up to limit and about maxBytes, and at least one if there is any.
	DebugPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.DebugMessage, error)
	Memory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope) (domain.Memory, error)
	// SaveMemory replaces notes. Another current revision is domain.CodeConflict.
	SaveMemory(ctx context.Context, tenant domain.TenantID, save store.MemorySave) (domain.Memory, error)
	Audit(ctx context.Context, tenant domain.TenantID, filter store.AuditFilter) ([]domain.AuditEntry, error)
	AuditHead(ctx context.Context, tenant domain.TenantID) (seq int64, hash string, err error)
	Ping(ctx context.Context) error
}

// Items reads executions as conversations.
type Items interface {
	// Read returns the items of an execution from a place on: at most limit, about paging.PageBytes, and at least one if there is any.
	Read(ctx context.Context, execution domain.Execution, from int64, limit int) (paging.Page, error)
}

// Tools is the registry of the internal agent's tools.
type Tools interface {
	Tools() []ToolInfo
}

// ToolInfo describes a tool as the model sees it.
type ToolInfo struct {
	Name, Version string
	Class         domain.Class
	Description   string
	Schema        json.RawMessage
}

// Environments is the catalog of environments.
type Environments interface {
	All() []domain.EnvironmentInfo
}

// Masker replaces the values of secrets in a text, or in the strings of a JSON document.
type Masker interface {
	MaskString(text string) string
	JSON(document json.RawMessage) json.RawMessage
}

// Models is the registry of models.
type Models interface {
	Models(ctx context.Context) []ModelInfo
	Names() []string
	Default() string // empty: none
}

// ModelInfo describes a model without its key and address.
type ModelInfo struct {
	Name, Provider, Model string
	Default, Available    bool
	Reason                string // why it is unavailable
	ContextWindow         int64  // 0: unknown

	Settings        []string        // that a request may set
	Efforts         []domain.Effort // that it may ask for
	MaxOutputTokens int64           // that it may ask for at most; 0: no limit
}

// Agents is the registry of external agents.
type Agents interface {
	Agents(ctx context.Context) []AgentInfo
	// Agent describes one agent; false: the name is unknown. With probe, it starts the program to learn its offers, if these are unknown.
	Agent(ctx context.Context, name string, probe bool) (details AgentDetails, known bool)
}

// AgentInfo describes an external agent.
type AgentInfo struct {
	Name, Description string
	Available         bool
	Reason            string // what is missing, with the command that installs it
	Version           string // empty: unknown
	Mode              string // the mode in which it asks people; empty: it has no modes
	Environment       string // that its process runs in; empty: it is not isolated
}

// AgentDetails describes an external agent with its offers.
type AgentDetails struct {
	AgentInfo
	Offers  *AgentOffers    // nil: unknown
	Probing bool            // it is being started to learn the offers
	Failure *domain.Failure // why the last attempt to learn them failed; nil: it succeeded, or there was none
}

// AgentOffers are the options of an external agent in a new session, and the files that it takes.
type AgentOffers struct {
	Options    []domain.AgentOption
	MediaTypes []string // of the files that a prompt may have
	Version    string   // as the agent reports it; may be empty
	At         time.Time
}

// Keys verifies tokens, and checks that a verified key is still valid.
type Keys interface {
	Verify(ctx context.Context, token string) (keys.Principal, error)
	Check(ctx context.Context, keyID string) error
}

var (
	_ Log       = (*events.Log)(nil)
	_ Reader    = (*store.Store)(nil)
	_ Items     = (*paging.Pages)(nil)
	_ Keys      = (*keys.Verifier)(nil)
	_ Approvals = (*approvals.Service)(nil)
)

// Config configures a server. Zero values in the last block are the defaults.
type Config struct {
	Admission *admission.Admission
	Sessions  Sessions
	Approvals Approvals
	Log       Log
	Reader    Reader
	Items     Items
	Files     Files
	Models    Models
	Agents    Agents
	Tools     Tools
	Masker    Masker
	Keys      Keys
	Webhooks  Webhooks

	Checkpoints  Checkpoints
	Rollbacks    Rollbacks
	Fetches      Fetches
	Environments Environments
	MCPServers   MCPServers
	Profiles     Profiles

	Version    string
	Hosts      []string               // host names, with or without a port, that requests may name besides the loopback ones
	Collectors []prometheus.Collector // metrics of other packages
	Logger     *slog.Logger
	MaxStreams int
	Shutdown   time.Duration // how long Serve waits for running requests after its context has ended
}

const (
	defaultMaxStreams = 20_000
	defaultShutdown   = 10 * time.Second

	headerTimeout = 5 * time.Second
	idleTimeout   = 60 * time.Second
	// writeTimeout bounds a whole response except streams, which set a deadline per write. It is longer than the longest wait that a
	// client can ask for.
	writeTimeout = 90 * time.Second
)

// Server is the HTTP side of Signoff.
type Server struct {
	admission   *admission.Admission
	sessions    Sessions
	approvals   Approvals
	checkpoints Checkpoints
	rollbacks   Rollbacks
	events      Log
	fetches     Fetches
	reader      Reader
	items       Items
	files       Files
	masker      Masker
	keys        Keys

	registry registryHandlers
	rules    ruleHandlers
	profiles profileHandlers
	webhooks webhookHandlers
	links    linkHandlers

	document contract.Document
	console  *console.Console
	hosts    hosts
	metrics  *metrics
	log      *slog.Logger
	version  string
	shutdown time.Duration
	router   chi.Router

	notReady atomic.Bool // set by SetNotReady
	streams  *stream.Hub
}

// NewServer returns a server that is ready to serve. It fails only on a broken document or console, a route that does not fit the
// document, or colliding metrics.
func NewServer(config Config) (*Server, error) {
	document, err := contract.Load()
	if err != nil {
		return nil, err
	}
	pages, err := console.Read()
	if err != nil {
		return nil, err
	}
	s := &Server{
		admission: config.Admission, sessions: config.Sessions, approvals: config.Approvals, checkpoints: config.Checkpoints, rollbacks: config.Rollbacks, fetches: config.Fetches, events: config.Log, reader: config.Reader,
		items: config.Items, files: config.Files, masker: config.Masker, keys: config.Keys,
		registry: registryHandlers{config.Agents, config.Models, config.Tools, config.Admission, config.Masker, config.Version, config.Environments, config.MCPServers},
		rules:    ruleHandlers{config.Reader, config.Approvals, config.Admission},
		profiles: profileHandlers{config.Profiles, config.Admission},
		webhooks: webhookHandlers{config.Webhooks, config.Admission, config.Masker},
		links:    linkHandlers{config.Reader, config.Approvals, config.Webhooks, config.Keys, config.Masker},
		document: document, console: pages, hosts: newHosts(config.Hosts),
		log: cmp.Or(config.Logger, slog.Default()), version: config.Version, shutdown: config.Shutdown,
	}
	if s.shutdown <= 0 {
		s.shutdown = defaultShutdown
	}
	maxStreams := config.MaxStreams
	if maxStreams <= 0 {
		maxStreams = defaultMaxStreams
	}
	s.streams = stream.NewHub(stream.Config{Keys: config.Keys, Logger: s.log, Max: maxStreams, Panicked: s.panicked})
	if s.metrics, err = newMetrics(slices.Concat(s.streams.Collectors(), config.Collectors)); err != nil {
		return nil, fmt.Errorf("http: metrics: %w", err)
	}
	s.router, err = s.routes()
	return s, err
}

// Handler returns the handler of all routes, for tests and for other servers.
func (s *Server) Handler() http.Handler { return s.router }

// Serve serves on listener until ctx ends, then drains, waits for running requests and returns. A clean end is no error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:                      s.router,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		WriteTimeout:                 writeTimeout,
		MaxHeaderBytes:               2 * maxHeaders, // between the two limits we respond with a problem
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(problemListener{listener, s}) }()
	select {
	case err := <-served:
		s.Drain()
		return err
	case <-ctx.Done():
	}
	s.Drain()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.shutdown)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("http: requests were cut off: %w", err), server.Close())
	}
	if late := s.streams.Shutdown(ctx); late != nil && err == nil {
		err = fmt.Errorf("http: streams were cut off: %w", late)
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// SetNotReady makes /readyz fail and changes nothing else, so that load balancers send no new requests here.
func (s *Server) SetNotReady() { s.notReady.Store(true) }

// Drain makes /readyz fail, ends streams with a hint to reconnect, and ends waits. The server still accepts requests, for clients that have
// not noticed yet. Call it some time before the context of Serve ends.
func (s *Server) Drain() { s.streams.Drain() }

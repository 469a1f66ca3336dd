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
	// Start creates an execution and begins to drive it. Replayed tells that an equal request had created it before;
	// another body under the same key is domain.CodeIdempotencyMismatch. What the request cannot resume from is
	// domain.CodeNotResumable or, where there is no such execution, domain.CodeInvalid.
	Start(ctx context.Context, tenant domain.TenantID, by domain.Actor, request domain.Request,
		idempotency *store.Idempotency) (execution domain.Execution, replayed bool, err error)

	// Prompt takes a further prompt in; its text and what becomes of it while a turn runs are set. Replayed tells that
	// an equal request had sent it before. Errors about the state are domain.CodeBusy, CodeClosed, CodeExecutionEnded.
	Prompt(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
		idempotency *store.Idempotency) (accepted domain.QueuedPrompt, replayed bool, err error)

	// Close lets an execution end when it has worked off what it has, and waits a few seconds for it. One that had
	// ended otherwise is domain.CodeExecutionEnded.
	Close(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) (domain.Execution, error)

	// Resume lets an interrupted execution go on. One that is not interrupted is domain.CodeNotInterrupted, one that
	// somebody chose for otherwise domain.CodeConflict, a session that cannot be loaded domain.CodeNotResumable.
	Resume(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, mode domain.ResumeMode,
		by domain.Actor) (domain.Execution, error)

	// Writable tells whether the database takes in what is written.
	Writable() bool

	// Cancel asks an execution to stop and waits a few seconds for it. One that had ended otherwise is
	// domain.CodeExecutionEnded.
	Cancel(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, reason string,
		by domain.Actor) (domain.Execution, error)

	// AnswerClient takes what came of a call that the client has run, and returns the call as it stands, also beside an error
	// about its state: domain.CodeAlreadyAnswered where another answer came before, domain.CodeCallEnded where it waits no more.
	AnswerClient(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, toolCallID string,
		answer domain.ClientAnswer) (domain.ClientCall, error)

	// Edit takes in a prompt that wants blocks changed; the number 0 is those that are submitted. Errors are those of Prompt, and
	// domain.CodeNoGeneration.
	Edit(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor,
		idempotency *store.Idempotency) (accepted domain.QueuedPrompt, replayed bool, err error)

	// Accept takes blocks, and with it ends the execution. Errors about the state are domain.CodeNoGeneration,
	// domain.CodeBusy, domain.CodeDocumentChanged, domain.CodeExecutionEnded.
	Accept(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, acceptance store.Acceptance) (domain.Execution, error)

	// Delete deletes an execution, and cancels a live one. From then on nothing shows it; its rows are removed afterwards.
	Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) error

	// AwaitRemoval waits until no row of a deleted execution is left, and tells whether that came in time.
	AwaitRemoval(ctx context.Context, id domain.ExecutionID, wait time.Duration) (gone bool, err error)
}

// Approvals takes decisions, and keeps the rules that they leave behind.
type Approvals interface {
	// Decide returns the approval as it stands, also beside an error about its state.
	Decide(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID, answer approvals.Answer) (domain.Approval, error)
	// CreateRule stores a rule; what is wrong with it is domain.CodeInvalid, an unknown execution domain.CodeNotFound.
	// Replayed tells that an equal request with the same key had created it before.
	CreateRule(ctx context.Context, rule domain.PermissionRule, key, channel string) (created domain.PermissionRule, replayed bool, err error)
	RevokeRule(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (domain.PermissionRule, error)
	// Evaluate judges a call that nobody makes.
	Evaluate(ctx context.Context, evaluation approvals.Evaluation) (approvals.Judgement, domain.ToolCall, error)
}

// Log follows executions.
type Log interface {
	Follow(ctx context.Context, id domain.ExecutionID, after int64) (*events.Follower, error)
	// FollowBy follows an execution whose head is read by the caller, who learns with it whose it is.
	FollowBy(id domain.ExecutionID, after int64, read func() (store.Head, error)) (*events.Follower, error)
	// FollowAll follows all executions of a tenant, and FollowNew what happens in them from now on.
	FollowAll(ctx context.Context, tenant domain.TenantID, after store.FeedCursor) (*events.FeedFollower, error)
	FollowNew(ctx context.Context, tenant domain.TenantID) (*events.FeedFollower, error)
}

// Reader reads what is stored. What belongs to another tenant is domain.CodeNotFound.
type Reader interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	HeadOf(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (store.Head, error)
	// QueuePosition is 1 for the next of its tenant that begins when there is room, and 0 where it does not wait for that.
	QueuePosition(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (int, error)
	Executions(ctx context.Context, tenant domain.TenantID, filter store.ExecutionFilter) (store.Page[domain.Execution], error)
	// EventPage gives the events after one, up to limit and about maxBytes, and at least one where there is one.
	EventPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.Event, error)
	Approval(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID) (domain.Approval, error)
	Approvals(ctx context.Context, tenant domain.TenantID, filter store.ApprovalFilter) (store.Page[domain.Approval], error)
	ApprovalsOf(ctx context.Context, execution domain.ExecutionID) ([]domain.Approval, error)
	// ClientCalls are those that wait for the client, in the order of asking; with ids, those calls, whatever their state.
	ClientCalls(ctx context.Context, execution domain.ExecutionID, ids ...string) ([]domain.ClientCall, error)
	// NewestGeneration comes without its blocks, nil where there is none; Generations are all, by number.
	NewestGeneration(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) (*domain.Generation, error)
	Generations(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.Generation, error)
	// ClientCallPage and PromptPage give those behind one, whatever has become of them, up to limit; empty is from the first on.
	ClientCallPage(ctx context.Context, execution domain.ExecutionID, after string, limit int) ([]domain.ClientCall, error)
	PromptPage(ctx context.Context, execution domain.ExecutionID, after domain.PromptID, limit int) ([]domain.QueuedPrompt, error)
	// DebugPage gives the raw messages after one, up to limit and about maxBytes, and at least one where there is one.
	DebugPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.DebugMessage, error)
	PermissionRule(ctx context.Context, tenant domain.TenantID, id string) (domain.PermissionRule, error)
	PermissionRules(ctx context.Context, tenant domain.TenantID, filter store.RuleFilter) (store.Page[domain.PermissionRule], error)
	Memory(ctx context.Context, tenant domain.TenantID, scope domain.MemoryScope) (domain.Memory, error)
	// SaveMemory replaces notes that still have the revision; otherwise domain.CodeConflict.
	SaveMemory(ctx context.Context, tenant domain.TenantID, save store.MemorySave) (domain.Memory, error)
	Audit(ctx context.Context, tenant domain.TenantID, filter store.AuditFilter) ([]domain.AuditEntry, error)
	AuditHead(ctx context.Context, tenant domain.TenantID) (seq int64, hash string, err error)
	Ping(ctx context.Context) error
}

// Items makes items of logs.
type Items interface {
	// Read gives the items of an execution from a place on: at most limit, about paging.PageBytes, and at least one where there is one.
	Read(ctx context.Context, execution domain.Execution, from int64, limit int) (paging.Page, error)
}

// Tools is the registry of the internal agent's tools.
type Tools interface {
	Tools() []ToolInfo
}

// ToolInfo is what a tool is called, what it needs, and what the model reads about it.
type ToolInfo struct {
	Name, Version string
	Class         domain.Class
	Description   string
	Schema        json.RawMessage
}

// Masker takes the values of secrets out of a text, or of the strings of a JSON document.
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

// ModelInfo is what may be shown of a model.
type ModelInfo struct {
	Name, Provider, Model string
	Default, Available    bool
	Reason                string // why it is not available
	ContextWindow         int64  // 0: unknown
}

// Agents is the registry of external agents.
type Agents interface {
	Agents(ctx context.Context) []AgentInfo
	// Agent shows one agent; false: there is none of this name. With probe, its program is started to learn what it offers,
	// where that is not known.
	Agent(ctx context.Context, name string, probe bool) (details AgentDetails, known bool)
}

// AgentInfo is what may be shown of an external agent.
type AgentInfo struct {
	Name, Description string
	Available         bool
	Reason            string // what is missing, with the command that installs it
	Version           string // empty: unknown
	Mode              string // in which it asks people; empty: it has no modes
}

// AgentDetails is what may be shown of one external agent.
type AgentDetails struct {
	AgentInfo
	Offers  *AgentOffers    // nil: not known
	Probing bool            // it is being started to learn them
	Failure *domain.Failure // why the last attempt has brought nothing; nil: it went well, or there was none
}

// AgentOffers is what an external agent offers to choose from in a new session.
type AgentOffers struct {
	Options []domain.AgentOption
	Version string // that the agent says it has; may be empty
	At      time.Time
}

// Keys tells whose a token is, and whether a key that was good still is.
type Keys interface {
	Verify(ctx context.Context, token string) (keys.Principal, error)
	Holds(ctx context.Context, keyID string) error
}

var (
	_ Log       = (*events.Log)(nil)
	_ Reader    = (*store.Store)(nil)
	_ Items     = (*paging.Pages)(nil)
	_ Keys      = (*keys.Verifier)(nil)
	_ Approvals = (*approvals.Service)(nil)
)

// Config is what a server is made of. Zero values of the last block mean the defaults.
type Config struct {
	Admission *admission.Admission
	Sessions  Sessions
	Approvals Approvals
	Log       Log
	Reader    Reader
	Items     Items
	Models    Models
	Agents    Agents
	Tools     Tools
	Masker    Masker
	Keys      Keys
	Webhooks  Webhooks

	Version    string
	Hosts      []string               // host names, with or without a port, that requests may name beside the loopback ones
	Collectors []prometheus.Collector // metrics of other packages
	Logger     *slog.Logger
	MaxStreams int
	Shutdown   time.Duration // how long Serve waits for requests under way after its context has ended
}

const (
	defaultMaxStreams = 20_000
	defaultShutdown   = 10 * time.Second

	headerTimeout = 5 * time.Second
	idleTimeout   = 60 * time.Second
	// writeTimeout bounds a whole answer but for streams, which set a deadline per write. It is longer than the
	// longest wait that a client can ask for.
	writeTimeout = 90 * time.Second
)

// Server is the HTTP side of Signoff.
type Server struct {
	admission *admission.Admission
	sessions  Sessions
	approvals Approvals
	events    Log
	reader    Reader
	items     Items
	models    Models
	agents    Agents
	tools     Tools
	masker    Masker
	keys      Keys
	webhooks  Webhooks

	document contract.Document
	console  *console.Console
	hosts    hosts
	metrics  *metrics
	log      *slog.Logger
	version  string
	shutdown time.Duration
	router   chi.Router

	leaving atomic.Bool // set by StepAside
	streams *stream.Hub
}

// NewServer returns a server that is ready to serve. It fails only on a broken document or console, a route
// that is not bound as the document says, or colliding metrics.
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
		admission: config.Admission, sessions: config.Sessions, approvals: config.Approvals, events: config.Log, reader: config.Reader, items: config.Items,
		models: config.Models, agents: config.Agents, tools: config.Tools, masker: config.Masker,
		keys: config.Keys, webhooks: config.Webhooks, document: document, console: pages, hosts: newHosts(config.Hosts),
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

// Handler serves everything; for tests, and for those who bring their own server.
func (s *Server) Handler() http.Handler { return s.router }

// Serve answers on listener until ctx ends, then drains, waits for the requests under way and returns. A clean end is
// no error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:                      s.router,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		WriteTimeout:                 writeTimeout,
		MaxHeaderBytes:               2 * maxHeaders, // between the two limits the answer is a problem of ours
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

// StepAside has /readyz say no, and changes nothing else: requests and streams are served until those who send them have heard of it.
func (s *Server) StepAside() { s.leaving.Store(true) }

// Drain makes the server step aside for good: /readyz says no, streams end with a hint to come back, waits return. It takes
// requests as before, so that those who have not heard of it yet are served; call it first, some time before the
// context of Serve ends.
func (s *Server) Drain() { s.streams.Drain() }

package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// A trial is a small turn of the agent itself: the model is asked to call a tool without any effect, and is sent the result. Many models answer, and
// fail only at the request behind the first call, with which their vendor wants the state of that answer back.

// Bounds of a trial.
const (
	trialTime     = 2 * time.Minute // a local server may first have to load the model
	trialRequests = 3
	trialBytes    = 32 << 10 // of texts and thoughts
	shownNames    = 8        // of a vendor's models
)

const trialPrompt = `This is a test of your tools. Call the tool think once, with the thought "ready". When you have its result, answer with the word "done".`

// Trial is the result of a trial; the error of [Registry.Try] says whether the model has passed.
type Trial struct {
	Took    time.Duration
	Tokens  *int64 // nil: the provider does not report them
	Dropped bool   // the provider has refused the state of its own model's answer, and taken the conversation without it
}

// Try asks a model. The error says in words what the model, or its provider, cannot do.
func (r *Registry) Try(ctx context.Context, name string) (Trial, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialTime, errTrialTime)
	defer cancel()
	execution := domain.Execution{ID: domain.ExecutionID("trial-" + randomName(10)), Request: domain.Request{
		Source: domain.Source{Type: domain.SourceInternal, Model: name}, Capabilities: domain.DefaultCapabilities,
		MaxIterations: trialRequests, Retry: &domain.Retry{},
	}}
	candidates, err := r.candidatesOf(execution.Request.Source)
	if err != nil {
		return Trial{}, err
	}
	granted, err := newToolset(tools.NewRegistry(tools.Think{}), execution.Request)
	if err != nil {
		return Trial{}, err
	}
	a := r.agentOf(execution, candidates, granted)
	a.logger = slog.New(slog.DiscardHandler) // the caller says what failed
	host := &trialHost{}
	begun := time.Now()
	stop, err := a.Prompt(ctx, host, domain.Prompt{Turn: 1, Text: trialPrompt, History: []domain.Message{{Role: domain.RoleUser, Text: trialPrompt}}})
	trial := Trial{Took: time.Since(begun), Tokens: a.account.total.usage.Tokens(), Dropped: host.dropped}
	return trial, host.verdict(ctx, candidates[0], stop, err)
}

var (
	errTrialTime  = errors.New("llm: the trial takes too long")
	errTrialBytes = errors.New("llm: the model says too much in a trial")
)

// trialHost is the host of a trial. An agent whose only tool is think calls no other method of its host.
type trialHost struct {
	domain.Host

	mu      sync.Mutex // guards what follows
	spoken  int        // bytes of texts and thoughts
	called  bool       // the model has asked for a tool
	ran     bool       // one of its calls was right
	dropped bool
}

// Emit implements [domain.Host].
func (h *trialHost) Emit(_ context.Context, payloads ...domain.Payload) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, payload := range payloads {
		switch p := payload.(type) {
		case domain.MessageDelta:
			h.spoken += len(p.Text)
		case domain.ThoughtDelta:
			h.spoken += len(p.Text)
		case domain.ToolCallRequested:
			h.called = true
		case domain.ToolCallCompleted:
			h.ran = h.ran || p.Outcome == domain.OutcomeSucceeded
		case domain.ModelStateDropped:
			h.dropped = h.dropped || p.Reason == domain.StateRefused
		}
	}
	if h.spoken > trialBytes {
		return errTrialBytes
	}
	return nil
}

// EmitAnswer implements [domain.Host].
func (h *trialHost) EmitAnswer(ctx context.Context, _ domain.AnswerState, payloads ...domain.Payload) error {
	return h.Emit(ctx, payloads...)
}

// Reserve implements [domain.Host]. A trial is the operator's, and costs a few tokens.
func (h *trialHost) Reserve(context.Context, domain.Estimate) (domain.Reservation, error) {
	return domain.Unbounded{}, nil
}

// Authorize implements [domain.Host].
func (h *trialHost) Authorize(_ context.Context, call domain.ToolCall) (domain.Grant, error) {
	return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
}

// Runbook implements [domain.Host].
func (h *trialHost) Runbook() domain.Runbook { return domain.Runbook{} }

// verdict says what is wrong with the model; nil: nothing. Its sentences are whole, and have no cause that would repeat them.
func (h *trialHost) verdict(ctx context.Context, tried *candidate, stop domain.StopReason, err error) error {
	name, far := tried.model.Name, "Model %q "
	if h.called {
		far = "Model %q calls tools, but "
	}
	failed := func(format string, args ...any) error {
		return domain.Errorf(domain.CodeModelFailed, far+format, append([]any{name}, args...)...)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTrialTime) && err != nil:
		return failed("took longer than %s.", trialTime)
	case errors.Is(err, errTrialBytes):
		return failed("said more than %d KiB where one word was wanted.", trialBytes>>10)
	case err != nil && h.called:
		return failed("the request with the result fails: %s", domain.FailureOf(err).Message)
	case err != nil:
		return tried.firstFailure(ctx, err)
	case stop == domain.StopMaxTokens:
		return failed("was cut off at its limit of tokens.")
	case stop == domain.StopRefusal:
		return failed("declined to go on.")
	case !h.called:
		return failed("answers, but does not call tools, so it cannot be an agent; choose one with tool support.")
	case !h.ran:
		return failed("with a name or arguments that do not fit, so it can hardly be an agent; choose a more capable one.")
	default:
		return nil
	}
}

// noTools finds the sentence in which a server says that the model has no tools. vLLM says it where it was started without them.
// https://github.com/ollama/ollama/issues/14795, https://github.com/Kilo-Org/kilocode/issues/9006 (OpenRouter),
// https://github.com/vllm-project/vllm/issues/9986
var noTools = regexp.MustCompile(`(?i)support\w*\W+(\w+\W+){0,2}(tool|function)|(tool|function)\w*\W+(\w+\W+){0,4}support|auto-tool-choice`)

// firstFailure adds to the failure of the first request what helps: that the model has no tools, or which models there are.
func (c *candidate) firstFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	shown := domain.FailureOf(err)
	if shown.Code != domain.CodeModelFailed {
		return domain.Errorf(shown.Code, "%s", shown.Message)
	}
	if noTools.MatchString(shown.Message) {
		return domain.Errorf(shown.Code, "%s Without tools the model cannot be an agent; choose one with tool support, or turn them on in its server.", sentenceEnd(shown.Message))
	}
	if others := c.others(ctx); others != "" {
		return domain.Errorf(shown.Code, "%s It does not list a model %q; it lists %s.", sentenceEnd(shown.Message), c.model.Model, others)
	}
	return domain.Errorf(shown.Code, "%s", shown.Message)
}

// sentenceEnd ends a message that ends with a vendor's words.
func sentenceEnd(message string) string {
	if strings.HasSuffix(message, ".") || strings.HasSuffix(message, "…") {
		return message
	}
	return message + "."
}

// lister is a client whose server lists its models.
type lister interface {
	// ListModels returns the names of the models, as the vendor has them; nil where it does not tell.
	ListModels(ctx context.Context) []string
}

// others are the models that the vendor lists, those first whose names begin most like the wanted one; empty where it lists none, or the wanted one
// as well.
func (c *candidate) others(ctx context.Context) string {
	lists, is := c.client.(lister)
	if !is {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	names := lists.ListModels(ctx)
	if len(names) == 0 || slices.Contains(names, c.model.Model) {
		return ""
	}
	slices.SortFunc(names, func(a, b string) int {
		if alike := commonPrefix(b, c.model.Model) - commonPrefix(a, c.model.Model); alike != 0 {
			return alike
		}
		return strings.Compare(a, b)
	})
	shown := strings.Join(names[:min(len(names), shownNames)], ", ")
	if more := len(names) - shownNames; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return shown
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

package http

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/contract"
	"signoff/internal/runbooks/template"
)

// tight is the document with every object closed: an answer with a field that the document does not have fails.
var tight = sync.OnceValue(func() *openapi3.T {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder)
	for _, media := range consoleMedia {
		media, _, _ = strings.Cut(media, ";")
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		panic(err)
	}
	document.Servers = nil
	closed := false
	for _, schema := range document.Components.Schemas {
		if schema.Value.Type.Is("object") && schema.Value.AdditionalProperties.Has == nil && schema.Value.AdditionalProperties.Schema == nil {
			schema.Value.AdditionalProperties.Has = &closed
		}
	}
	nameExecutions(document.Components.Schemas)
	return document
})

// nameExecutions makes the events of the feed schemas of their own: a schema that takes no member beside its own cannot be extended.
func nameExecutions(schemas openapi3.Schemas) {
	feed := openapi3.NewOneOfSchema()
	for _, event := range schemas["Event"].Value.OneOf {
		named := *event.Value
		named.Properties = maps.Clone(named.Properties)
		named.Properties["executionId"] = openapi3.NewUUIDSchema().NewRef()
		named.Required = append(slices.Clone(named.Required), "executionId")
		feed.OneOf = append(feed.OneOf, named.NewRef())
	}
	*schemas["FeedEvent"].Value = *feed
}

// check holds an answer against the document.
func check(h *testServer, r *http.Request, a answer) {
	h.Helper()
	keep := "no-store"
	if a.header.Get("ETag") != "" && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/console/")) {
		keep = "no-cache" // what the console is made of is no secret
		if strings.HasPrefix(r.URL.Path, h.file("")) {
			keep = "public, max-age=31536000, immutable"
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": keep} {
		if a.header.Get(name) != want {
			h.Errorf("%s %s: %s is %q", r.Method, r.URL.Path, name, a.header.Get(name))
		}
	}
	if len(a.header.Get("X-Request-Id")) != 36 || a.header.Get("Access-Control-Allow-Origin") != "" {
		h.Errorf("%s %s: headers %v", r.Method, r.URL.Path, a.header)
	}
	isPage := strings.HasPrefix(r.URL.Path, "/approve/") && a.header.Get("Content-Type") == "text/html; charset=utf-8"
	if a.status >= 400 && !isPage { // which is for people
		checkProblem(h, r, a)
	}
	route := chi.NewRouteContext()
	if !h.server.router.Match(route, r.Method, r.URL.Path) {
		if a.status < 400 {
			h.Errorf("%s %s is not in the document and answers %d", r.Method, r.URL.Path, a.status)
		}
		return
	}
	pattern := route.RoutePattern()
	item := tight().Paths.Value(pattern)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: tight(), Path: pattern, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		},
		Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		h.Errorf("%s %s answers %d against the document: %v\n%s", r.Method, r.URL.Path, a.status, err, a.body)
	}
}

func checkProblem(h *testServer, r *http.Request, a answer) {
	h.Helper()
	if a.header.Get("Content-Type") != "application/problem+json" {
		h.Errorf("%s %s: %d is %q: %s", r.Method, r.URL.Path, a.status, a.header.Get("Content-Type"), a.body)
	}
	if r.Method == http.MethodHead {
		return
	}
	checkSchema(h, "Problem", a.body)
	if id := a.text("requestId"); id != a.header.Get("X-Request-Id") || a.text("instance") != "urn:uuid:"+id {
		h.Errorf("requestId %s does not fit the header", id)
	}
	if len(a.body) > 8<<10 && a.get("approval") == nil && a.get("execution") == nil {
		h.Errorf("a problem of %d bytes", len(a.body))
	}
	if answers[domain.Code(a.text("code"))].status != a.status || a.get("status") != float64(a.status) {
		h.Errorf("code %s with status %d", a.text("code"), a.status)
	}
	if a.status == 503 && a.header.Get("Retry-After") == "" || a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
		h.Errorf("%d lacks a header: %v", a.status, a.header)
	}
}

func checkSchema(t testing.TB, name string, data []byte) {
	t.Helper()
	value, err := contract.ParseJSON(data)
	must(t, err)
	if err := tight().Components.Schemas[name].Value.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsResponse()); err != nil {
		t.Errorf("%s against its schema: %v\n%s", name, err, data)
	}
}

// checkFrame holds an event of a stream against its schema, and its fields against each other.
func checkFrame(t testing.TB, f frame) {
	t.Helper()
	if f.event == "stream.synced" {
		if f.id != "" {
			t.Errorf("stream.synced has the id %s", f.id)
		}
		checkSchema(t, "StreamSynced", []byte(f.data))
		return
	}
	checkSchema(t, "Event", []byte(f.data))
	var event struct {
		Seq  json.Number
		Type string
	}
	must(t, json.Unmarshal([]byte(f.data), &event))
	if event.Seq.String() != f.id || event.Type != f.event {
		t.Errorf("frame %s %s carries %s", f.id, f.event, f.data)
	}
}

func TestRouterAndDocumentAgreeInBothDirections(t *testing.T) {
	h := newTestServer(t)
	routed := map[string]bool{}
	must(t, chi.Walk(h.server.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed[method+" "+route] = true
		return nil
	}))
	if !maps.Equal(routed, asSet(maps.Keys(h.server.document))) {
		t.Errorf("router  %v\ndocument %v", slices.Sorted(maps.Keys(routed)), slices.Sorted(maps.Keys(h.server.document)))
	}
}

func asSet(names func(func(string) bool)) map[string]bool {
	set := map[string]bool{}
	for name := range names {
		set[name] = true
	}
	return set
}

func TestEveryRouteSaysWhoMayCallIt(t *testing.T) {
	public := map[string]bool{"GET /": true, "GET /healthz": true, "GET /readyz": true, "GET /openapi.yaml": true,
		"GET /console/{release}/{file}": true, "GET /approve/{token}": true, "POST /approve/{token}": true, // the token is the credential
	}
	document, err := contract.Load()
	must(t, err)
	for route, o := range document {
		if o.Public != public[route] {
			t.Errorf("%s: public is %v", route, o.Public)
		}
		if !o.Public && o.Scope == "" {
			t.Errorf("%s has no scope", route)
		}
	}
}

func TestTheDocumentListsEveryCodeWithItsStatus(t *testing.T) {
	schema := tight().Components.Schemas["ProblemCode"].Value
	documented := map[string]bool{}
	for _, code := range schema.Enum {
		documented[code.(string)] = true
	}
	for code, answer := range answers {
		if !documented[string(code)] {
			t.Errorf("%s is not in the document", code)
		}
		if line := "| `" + string(code) + "` | " + http.StatusText(answer.status); answer.title == "" || line == "" {
			t.Errorf("%s has no title", code)
		}
		if !strings.Contains(schema.Description, "| `"+string(code)+"` | "+itoa(answer.status)+" |") {
			t.Errorf("the document's table does not say that %s is %d", code, answer.status)
		}
		delete(documented, string(code))
	}
	if len(documented) > 0 {
		t.Errorf("documented, but never sent: %v", documented)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// payloads has each payload twice: as small as it gets, and with everything.
func payloads() []domain.Payload {
	someone, one := &domain.Actor{KeyID: "k", Name: "ann"}, 1
	soon, many, price := time.Date(2026, 7, 1, 8, 0, 0, 5000, time.UTC), int64(7), 0.25
	id := "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"
	usage := domain.Usage{
		InputTokens: &many, OutputTokens: &many, ReasoningTokens: &many, CacheReadTokens: &many, CacheWriteTokens: &many,
		TotalTokens: &many, ContextUsed: &many, ContextSize: &many, Cost: &price,
	}
	failure := &domain.Failure{Code: domain.CodeToolFailed, Message: "It failed."}
	source := domain.Source{Type: domain.SourceInternal, Model: "demo"}
	external := domain.Source{Type: domain.SourceACP, Command: "mock", Model: "m", Mode: "ask"}
	arguments, update := json.RawMessage(`{"command":"df"}`), json.RawMessage(`{"sessionUpdate":"x","_meta":{"y":[1]}}`)
	options := json.RawMessage(`[{"optionId":"ok","name":"Yes","kind":"allow_once","_meta":{"x":1}},{"kind":"what"}]`)
	all := []domain.Payload{
		domain.ExecutionCreated{Status: domain.StatusQueued, Source: domain.Source{Type: domain.SourceInternal}},
		domain.ExecutionCreated{Status: domain.StatusQueued, Source: source},
		domain.StateChanged{From: domain.StatusQueued, To: domain.StatusInitializing},
		domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusStreaming, Reason: "why"},
		domain.ExecutionCreated{Status: domain.StatusQueued, Source: external},
		domain.PromptQueued{PromptID: domain.PromptID(id), Text: "x", WhenBusy: domain.WhenBusyInterrupt, By: *someone},
		domain.PromptDiscarded{PromptID: domain.PromptID(id)},
		domain.TurnStarted{Turn: 1},
		domain.TurnStarted{Turn: 2, PromptID: domain.PromptID(id), Text: "x", Options: map[string]string{"effort": "high"}},
		domain.PromptQueued{PromptID: domain.PromptID(id), Text: "x", WhenBusy: domain.WhenBusyEnqueue, By: *someone, Options: map[string]string{"effort": "high"}},
		domain.TurnStarted{Turn: 2, PromptID: domain.PromptID(id), Text: "x"},
		domain.TurnStarted{Turn: 2, PromptID: domain.PromptID(id), Text: "x", Edits: 1}, domain.TurnStarted{Turn: 2, Text: "x", Repair: 1},
		domain.PromptQueued{PromptID: domain.PromptID(id), Text: "x", WhenBusy: domain.WhenBusyReject, Edits: 1, By: *someone},
		domain.TurnContinued{Turn: 1, Mode: domain.ResumeLoad, Text: "Go on."},
		domain.TurnContinued{Turn: 1, Mode: domain.ResumeFresh, Text: "Go on.", By: someone},
		domain.TurnEnded{Turn: 1, StopReason: domain.StopEndTurn}, domain.TurnEnded{Turn: 1, StopReason: domain.StopError, Error: failure},
		domain.AgentStarted{Source: source, Sandbox: "bubblewrap"},
		domain.AgentStarted{
			Source: external, Sandbox: "off", Name: "Mock", Version: "1", AgentSession: "s", Resumable: true, Continued: "load",
			Mode: "ask", Model: "m",
		},
		domain.AgentExited{Message: "It ended with code 1."},
		domain.AgentMCPServerUpdated{Server: "github", Status: domain.MCPServerFailed, Message: "Its program cannot be started."},
		domain.AgentMCPServerUpdated{Server: "github", Status: domain.MCPServerWithheld},
		domain.AgentOptionsUpdated{Options: []domain.AgentOption{{ID: "mode", Category: "mode", Current: "ask", Choices: []domain.AgentChoice{{Value: "ask", Name: "Ask"}, {Value: "plan"}}}}},
		domain.AgentUpdated{Kind: "x", Update: update}, domain.AgentUpdated{Turn: 1, Kind: "x", Update: update},
		domain.AgentModeChanged{Mode: "plan", Update: update}, domain.CommandsUpdated{Turn: 1, Update: update},
		domain.AgentSilent{Turn: 1, Seconds: 60}, domain.AgentStderr{Text: "x"},
		domain.MessageDelta{MessageID: "m", Turn: 1, Text: "a"},
		domain.MessageCompleted{MessageID: "m", Turn: 1},
		domain.MessageCompleted{MessageID: "m", Turn: 1, Length: 1, Interrupted: true},
		domain.ThoughtDelta{MessageID: "m", Turn: 1, Text: "a"},
		domain.ThoughtCompleted{MessageID: "m", Turn: 1},
		domain.ThoughtCompleted{MessageID: "m", Turn: 1, Length: 1, Interrupted: true, Thinking: json.RawMessage(`{"signature":"x"}`)},
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "?", Arguments: json.RawMessage(`"{broken"`)},
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "bash", Class: domain.ClassExecute, Arguments: arguments, Summary: "Run df"},
		domain.ToolCallQueued{ToolCallID: "c"},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: arguments, AllowedBy: "capability"},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: arguments, ApprovalID: domain.ApprovalID(id), AllowedBy: "rule", RuleID: id, Sandbox: "off", Reason: "A rule."},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: arguments, AllowedBy: "agent"},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: arguments, AllowedBy: "decision", Awaits: domain.AwaitsClient, ExpiresAt: &soon},
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "edit", Class: domain.ClassWrite, Arguments: arguments},
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "?", Class: domain.ClassOther, Arguments: arguments},
		domain.ToolCallUpdated{ToolCallID: "c", Output: "x"},
		domain.ToolCallReported{ToolCallID: "c", Update: update}, domain.ToolCallReported{ToolCallID: "c", Turn: 1, Update: update},
		domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeSucceeded},
		domain.ToolCallCompleted{ToolCallID: "c", Outcome: domain.OutcomeUnknown, Output: "x", ModelOutput: "y", Truncated: true, ExitCode: &one, DurationMs: 1, Sandbox: "off", Error: failure},
		domain.ApprovalRequested{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Kind: domain.ApprovalToolCall, Tool: "bash", Arguments: arguments, ArgumentsHash: "h", Summary: "s", WorkingDirectory: "/w", Isolation: &domain.Isolation{Name: "bubblewrap"}},
		domain.ApprovalRequested{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Kind: domain.ApprovalToolCall, Tool: "bash", Arguments: arguments, ArgumentsHash: "h", Summary: "s", WorkingDirectory: "/w", ExpiresAt: &soon, AskedBy: "bashPolicy", Reason: "No rule allows it.", Sandbox: "off", RememberOptions: []domain.RememberOption{
			{PreviewID: "exact", Matcher: domain.Matcher{Tool: "bash", ArgumentsHash: "h"}, Description: "d"},
			{PreviewID: "all", Matcher: domain.Matcher{Class: domain.ClassRead, Path: "/w/**", Command: "df *", Host: "a.example", Server: "files"}, Description: "d"},
		}},
		domain.ApprovalRequested{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Kind: domain.ApprovalAgentPermission, Arguments: arguments, Options: options},
		domain.ApprovalRequested{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Kind: domain.ApprovalQuestion, Arguments: arguments, Question: json.RawMessage(`{"message":"m","schema":{"type":"object"}}`)},
		domain.ApprovalResolved{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Status: domain.ApprovalApproved, OptionID: "ok", DecidedBy: someone},
		domain.ApprovalResolved{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Status: domain.ApprovalApproved, Answer: arguments, DecidedBy: someone},
		domain.ApprovalResolved{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Status: domain.ApprovalExpired},
		domain.ApprovalRequested{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Kind: domain.ApprovalUnknownOutcome, Tool: "bash", Arguments: arguments, ArgumentsHash: "h", AskedBy: "server", Reason: "The server stopped."},
		domain.ApprovalResolved{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Status: domain.ApprovalApproved, Resolution: domain.ResolutionRetry, DecidedBy: someone},
		domain.ToolCallStarted{ToolCallID: "c", Arguments: arguments, Version: "1", ApprovalID: domain.ApprovalID(id), AllowedBy: "decision"},
		domain.ApprovalResolved{ApprovalID: domain.ApprovalID(id), ToolCallID: "c", Status: domain.ApprovalApproved, Reason: "r", Edited: true, ArgumentsHash: "h", Remember: domain.RememberExecution, PreviewID: "exact", RuleID: id, DecidedBy: someone},
		domain.PlanUpdated{Turn: 1, Entries: []domain.PlanEntry{}},
		domain.PlanUpdated{Entries: []domain.PlanEntry{{Content: "Look", Priority: "high", Status: "pending"}}, Update: update},
		domain.RateLimitUpdated{Turn: 1, Update: update},
		domain.UsageUpdated{}, domain.UsageUpdated{Usage: usage, Turn: &usage, Request: &usage, Model: "demo"},
		domain.ModelSwitched{From: "demo", To: "dear", Code: domain.CodeModelFailed, Message: "m"},
		domain.ContextCompacted{Turn: 1, Reason: "nearLimit", Results: 3, Before: 9, After: 4},
		domain.ContextCompacted{Turn: 1, Reason: "overflow"},
		domain.BudgetWarned{Limit: "tokens", Used: 8, Max: 10}, domain.BudgetWarned{Limit: "cost", Used: 0.4, Max: 0.5},
		domain.BudgetWarned{Limit: "toolCalls", Used: 4, Max: 5},
		domain.BlocksGenerated{Generation: 1, Turn: 1, ToolCallID: "c", Blocks: json.RawMessage(`[]`)},
		domain.BlocksGenerated{Generation: 2, Turn: 1, ToolCallID: "c", Blocks: json.RawMessage(`[{"type":"a","props":{"x":1},"id":"b"}]`), InsertAfter: "b1", DocumentRevision: "12"},
		domain.BlocksAccepted{Generation: 2, By: *someone},
		domain.ModelRetrying{Attempt: 1, Model: "m", At: time.Now(), Until: time.Now(), DelayMs: 10, Code: domain.CodeModelUnreachable, Message: "m"},
	}
	none := domain.Output{FinishReason: domain.FinishEndTurn, ToolCallsExecuted: []domain.ExecutedToolCall{}}
	full := domain.Output{
		Text: "x", Truncated: true, Structured: json.RawMessage(`[1]`), Success: true, FinishReason: domain.FinishEndTurn, DurationSeconds: 1.5,
		Error: failure, TokenUsage: usage,
		ToolCallsExecuted: []domain.ExecutedToolCall{{ToolCallID: "c", Name: "bash", Approved: true, Outcome: domain.OutcomeSucceeded, ResultSummary: "ok"}},
	}
	for _, status := range []domain.Status{domain.StatusCompleted, domain.StatusFailed, domain.StatusCancelled, domain.StatusTimedOut} {
		all = append(all, domain.ExecutionEnded{Status: status, Output: none, FinishReason: domain.FinishEndTurn},
			domain.ExecutionEnded{Status: status, Output: none, FinishReason: domain.FinishExpired},
			domain.ExecutionEnded{Status: status, Output: full, FinishReason: domain.FinishBudget, Error: failure},
			domain.ExecutionEnded{Status: status, Output: none, FinishReason: domain.FinishCancelled, DurationSeconds: 1.5, Usage: usage, Error: failure, Reason: "r", CancelledBy: someone})
	}
	return all
}

func TestEveryEventFitsItsSchemaAndEverySchemaHasItsEvent(t *testing.T) {
	mapping := tight().Components.Schemas["Event"].Value.Discriminator.Mapping
	seen := map[string]bool{}
	for _, payload := range payloads() {
		event := domain.NewEvent("0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11", payload)
		event.Seq, event.Time = 1, time.Now()
		checkSchema(t, "Event", events.NewFrame(event).JSON())
		seen[string(event.Type)] = true
		if _, err := event.Payload(); err != nil {
			t.Errorf("%s: %v", event.Type, err)
		}
	}
	if documented := asSet(maps.Keys(mapping)); !maps.Equal(seen, documented) {
		t.Errorf("events  %v\ndocument %v", slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(documented)))
	}
}

func TestTheDocumentListsWhatTheDomainKnows(t *testing.T) {
	words := func(schema string) (words []string) {
		for _, word := range tight().Components.Schemas[schema].Value.Enum {
			words = append(words, word.(string))
		}
		return words
	}
	var statuses []string
	for _, status := range domain.Statuses {
		statuses = append(statuses, string(status))
	}
	for schema, want := range map[string][]string{
		"ExecutionStatus": statuses,
		"ApprovalStatus":  {"pending", "approved", "denied", "expired", "cancelled"},
		"ApprovalKind":    {string(domain.ApprovalToolCall), string(domain.ApprovalAgentPermission), string(domain.ApprovalQuestion), string(domain.ApprovalUnknownOutcome)},
		"SourceType":      {string(domain.SourceInternal), string(domain.SourceACP)},
		"FinishReason": {
			string(domain.FinishEndTurn), string(domain.FinishMaxTokens), string(domain.FinishMaxIterations), string(domain.FinishRefusal),
			string(domain.FinishCancelled), string(domain.FinishTimeout), string(domain.FinishError), string(domain.FinishExpired), string(domain.FinishBudget),
		},
		"ExecutionKind":    {string(domain.KindAgent), string(domain.KindAssistant), string(domain.KindGeneration)},
		"ClientCallStatus": {"waitingForClient", string(domain.ClientCallAnswered), string(domain.ClientCallExpired), string(domain.ClientCallCancelled)},
		"GenerationState": {
			string(domain.GenerationSubmitted), string(domain.GenerationAccepted), string(domain.GenerationSuperseded), string(domain.GenerationCancelled),
		},
		"Outcome": {
			string(domain.OutcomeSucceeded), string(domain.OutcomeFailed), string(domain.OutcomeDenied), string(domain.OutcomeExpired), string(domain.OutcomeCancelled),
			string(domain.OutcomeUnknown),
		},
		"TemplateSyntax":    {string(template.Jinja), string(template.Dollar)},
		"CapabilityVerdict": {string(domain.Deny), string(domain.Ask), string(domain.Allow)},
		"Resolution":        {string(domain.ResolutionSucceeded), string(domain.ResolutionFailed), string(domain.ResolutionRetry)},
		"Remember":          {string(domain.RememberOnce), string(domain.RememberExecution), string(domain.RememberGlobal)},
		"DecidedBy": {
			string(approvals.ByCapability), string(approvals.ByTools), string(approvals.ByBashPolicy), string(approvals.ByCatastrophe),
			string(approvals.ByRule), string(approvals.BySafeMode), string(approvals.ByUnattended), string(approvals.ByDecision),
			string(approvals.ByAgent), string(approvals.ByExpiry), string(approvals.ByServer), string(approvals.ByBrokenPolicy),
		},
	} {
		if got := words(schema); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
	for _, word := range words("WhenBusy") {
		if !domain.WhenBusy(word).Known() {
			t.Errorf("nobody knows whenBusy %s", word)
		}
	}
	for _, word := range words("ResumeMode") {
		if !domain.ResumeMode(word).Known() {
			t.Errorf("nobody knows the mode %s", word)
		}
	}
}

func TestExamplesOfTheDocumentAreValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must(t, err)
	must(t, document.Validate(context.Background(), openapi3.EnableExamplesValidation()))
}

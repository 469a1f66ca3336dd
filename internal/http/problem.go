package http

import (
	"context"
	"errors"
	"net/http"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/contract"
)

// codeHeadersTooLarge is known to this package alone.
const codeHeadersTooLarge domain.Code = "headersTooLarge"

// answers is the one table from codes to HTTP. A code that is missing here is a bug, and is answered as [domain.CodeInternal].
var answers = map[domain.Code]struct {
	status int
	title  string
}{
	domain.CodeMalformed:              {400, "The request cannot be read."},
	domain.CodeUnauthenticated:        {401, "The request has no valid API key."},
	domain.CodeForbidden:              {403, "The key may not do this."},
	domain.CodeForeignOrigin:          {403, "Web pages of other origins are not served."},
	domain.CodeFeatureDisabled:        {403, "The operator has switched this off."},
	domain.CodeNotFound:               {404, "There is no such thing."},
	domain.CodeMethodNotAllowed:       {405, "The route does not have this method."},
	domain.CodeNotAcceptable:          {406, "None of the accepted types can be produced."},
	domain.CodeConflict:               {409, "The request contradicts the current state."},
	domain.CodeStale:                  {409, "The state has changed meanwhile."},
	domain.CodeAlreadyDecided:         {409, "Another decision was made about the approval."},
	domain.CodeArgumentsHash:          {409, "The approved arguments are not those that would run."},
	domain.CodeExecutionEnded:         {409, "The execution has ended."},
	domain.CodeBusy:                   {409, "A turn of the execution is running."},
	domain.CodeClosed:                 {409, "The execution accepts no more prompts."},
	domain.CodeNotInterrupted:         {409, "The execution is not interrupted."},
	domain.CodeIdempotencyMismatch:    {409, "The idempotency key was used with another body."},
	domain.CodeCursorBeyondHead:       {409, "The log is not that long."},
	domain.CodeDocumentChanged:        {409, "The runbook has changed."},
	domain.CodeNoGeneration:           {409, "These blocks cannot be edited or accepted."},
	domain.CodeAlreadyAnswered:        {409, "The call has another result already."},
	domain.CodeApprovalExpired:        {410, "The approval has expired."},
	domain.CodeApprovalCancelled:      {410, "The approval was withdrawn."},
	domain.CodeCallEnded:              {410, "The call no longer waits for its client."},
	domain.CodePayloadTooLarge:        {413, "The body is too large."},
	domain.CodeURITooLong:             {414, "The request line is too long."},
	domain.CodeUnsupportedMedia:       {415, "The body is not plain JSON."},
	domain.CodeMisdirected:            {421, "The request is meant for another host."},
	domain.CodeInvalid:                {422, "The input is not valid."},
	domain.CodeUnknownModel:           {422, "There is no such model."},
	domain.CodeModelNotConfigured:     {422, "The model is not configured."},
	domain.CodeUnknownAgent:           {422, "There is no such agent."},
	domain.CodeAgentUnavailable:       {422, "The agent is not installed."},
	domain.CodeUnknownMCPServer:       {422, "There is no such MCP server."},
	domain.CodeUnknownProfile:         {422, "There is no such agent profile."},
	domain.CodeNotResumable:           {422, "There is no agent session to continue."},
	domain.CodeEnvironmentUnavailable: {422, "This machine cannot build the environment."},
	domain.CodeSandboxUnavailable:     {422, "This server cannot isolate commands."},
	domain.CodePathOutsideWorkspace:   {422, "The path leaves the workspace."},
	domain.CodePolicyDenied:           {422, "The execution's policy does not allow this."},
	domain.CodeUnknownSecret:          {422, "There is no such secret."},
	domain.CodePreviewOutdated:        {409, "The preview is outdated."},
	domain.CodeCheckpointFailed:       {409, "The folder could not be recorded."},
	domain.CodeCheckpointElsewhere:    {409, "The checkpoint lies on another machine."},
	domain.CodeNoCheckpoints:          {422, "No checkpoints can be taken."},
	domain.CodeSecretExposed:          {422, "The request holds the value of a secret."},
	domain.CodeTemplate:               {422, "A template cannot be rendered."},
	domain.CodeRevisionRequired:       {428, "The request needs the current revision."},
	domain.CodeHashRequired:           {428, "Approving needs the hash of the shown arguments."},
	codeHeadersTooLarge:               {431, "The headers are too large."},
	domain.CodeTooMany:                {429, "There is no room for more."},
	domain.CodeRateLimited:            {429, "This was asked for too often."},
	domain.CodeDailyBudgetSpent:       {429, "The budget of the day is spent."},
	domain.CodeInternal:               {500, "Something went wrong inside Signoff."},
	domain.CodeMCPServerUnavailable:   {502, "The MCP server cannot be used."},
	domain.CodeStorage:                {503, "The database does not answer."},
	domain.CodeUnavailable:            {503, "The service cannot accept this now."},
	domain.CodeOverloaded:             {503, "There is no room for anything more."},
}

const (
	retryAfter = "2" // seconds
	// retryQueue is for a full queue: it moves when an execution ends, and most take minutes.
	retryQueue = "15"

	// maxDetailLength keeps a problem small for any input.
	maxDetailLength = 300
)

// conflict is an error with the current state of the object that it is about.
type conflict struct {
	error
	approval   *api.Approval
	execution  *api.Execution
	generation *api.GenerationSummary
	toolCall   *api.ClientCall
}

func (c *conflict) Unwrap() error { return c.error }

// newProblem converts err. It hides the text of errors without a code and masks secrets: a message may quote the input, and a pointer may
// hold a name that the client made up.
func newProblem(err error, requestID string, mask func(string) string) api.Problem {
	failure := domain.FailureOf(err)
	answer, known := answers[failure.Code]
	if !known {
		failure = domain.FailureOf(errors.New("unlisted code"))
		answer = answers[failure.Code]
	}
	problem := api.Problem{
		Type:      "/openapi.yaml#" + string(failure.Code),
		Title:     answer.title,
		Status:    answer.status,
		Detail:    mask(failure.Message),
		Instance:  "urn:uuid:" + requestID,
		Code:      failure.Code,
		RequestId: requestID,
	}
	if failure.Code == domain.CodeNotFound {
		problem.Detail = "It does not exist, or this key may not see it." // one text, so that the two look alike
		return problem
	}
	problem.Errors = problemDetails(err, mask)
	var c *conflict
	if errors.As(err, &c) {
		problem.Approval, problem.Execution, problem.Generation, problem.ToolCall = c.approval, c.execution, c.generation, c.toolCall
	}
	return problem
}

func problemDetails(err error, mask func(string) string) *[]domain.Detail {
	var coded *domain.Error
	if !errors.As(err, &coded) || len(coded.Details) == 0 {
		return nil
	}
	details := make([]domain.Detail, 0, len(coded.Details))
	for _, d := range coded.Details {
		// Masked before it is cut: the masker does not recognise half a secret.
		pointer := strings.Map(func(r rune) rune {
			if unicode.IsControl(r) { // a name that the client made up can hold anything
				return utf8.RuneError
			}
			return r
		}, mask(d.Pointer))
		details = append(details, domain.Detail{
			Pointer: shorten(pointer, maxDetailLength), Message: shorten(mask(d.Message), maxDetailLength),
		})
	}
	sort.SliceStable(details, func(i, j int) bool { return details[i].Pointer < details[j].Pointer })
	details = details[:min(len(details), contract.MaxDetails)]
	return &details
}

// fail answers r with a problem. It logs an internal error, whose text the client does not get.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	info := infoOf(r.Context())
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		info.abandoned = true
		panic(http.ErrAbortHandler) // a client that only closed its sending side would take no response for an empty 200
	}
	problem := newProblem(err, info.requestID, s.masker.MaskString)
	if problem.Status >= http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "request failed", "requestId", info.requestID, "error", err)
	}
	if info.wrote() { // the response has begun, so it can only be broken off
		panic(http.ErrAbortHandler)
	}
	if wait := waitOf(err); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	writeProblem(w, problem)
}

// waitOf is how long a client should wait, where the error knows it.
func waitOf(err error) time.Duration {
	coded, is := errors.AsType[*domain.Error](err)
	if !is {
		return 0
	}
	return coded.RetryAfter
}

func writeProblem(w http.ResponseWriter, problem api.Problem) {
	header := w.Header()
	switch problem.Status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="signoff"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if header.Get("Retry-After") != "" { // the error knows better
			break
		}
		header.Set("Retry-After", retryAfter)
		if problem.Code == domain.CodeTooMany || problem.Code == domain.CodeOverloaded {
			header.Set("Retry-After", retryQueue)
		}
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		header.Set("Connection", "close") // do not read the rest
	}
	header.Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	w.Write(append(domain.Encode(problem), '\n'))
}

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && text[cut]&0xC0 == 0x80 { // not in the middle of a rune
		cut--
	}
	return text[:cut] + "…"
}

package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/http/contract"
)

// codeHeadersTooLarge is known to this package alone.
const codeHeadersTooLarge domain.Code = "headersTooLarge"

// answers is the one table from codes to HTTP. A code that is not in here is a bug of ours wherever it turns up, and
// is answered as [domain.CodeInternal].
var answers = map[domain.Code]struct {
	status int
	title  string
}{
	domain.CodeMalformed:            {400, "The request cannot be read."},
	domain.CodeUnauthenticated:      {401, "The request carries no API key that holds."},
	domain.CodeForbidden:            {403, "The key may not do this."},
	domain.CodeForeignOrigin:        {403, "Web pages of other origins are not served."},
	domain.CodeFeatureDisabled:      {403, "The operator has switched this off."},
	domain.CodeNotFound:             {404, "There is no such thing."},
	domain.CodeMethodNotAllowed:     {405, "The route does not have this method."},
	domain.CodeNotAcceptable:        {406, "None of the accepted types can be produced."},
	domain.CodeConflict:             {409, "The request contradicts the current state."},
	domain.CodeStale:                {409, "The state has moved on meanwhile."},
	domain.CodeAlreadyDecided:       {409, "The approval has been decided otherwise."},
	domain.CodeArgumentsHash:        {409, "What was approved is not what would run."},
	domain.CodeExecutionEnded:       {409, "The execution has ended."},
	domain.CodeBusy:                 {409, "A turn of the execution runs."},
	domain.CodeClosed:               {409, "The execution takes no more prompts."},
	domain.CodeNotInterrupted:       {409, "The execution is not interrupted."},
	domain.CodeIdempotencyMismatch:  {409, "The idempotency key was used with another body."},
	domain.CodeCursorBeyondHead:     {409, "The log is not that long."},
	domain.CodeDocumentChanged:      {409, "The runbook has changed."},
	domain.CodeNoGeneration:         {409, "These blocks do not wait for anybody."},
	domain.CodeAlreadyAnswered:      {409, "The call has been answered otherwise."},
	domain.CodeApprovalExpired:      {410, "The approval has expired."},
	domain.CodeApprovalCancelled:    {410, "The approval was withdrawn."},
	domain.CodeCallEnded:            {410, "The call waits for its client no more."},
	domain.CodePayloadTooLarge:      {413, "The body is too large."},
	domain.CodeURITooLong:           {414, "The request line is too long."},
	domain.CodeUnsupportedMedia:     {415, "The body is not plain JSON."},
	domain.CodeMisdirected:          {421, "The request is meant for another host."},
	domain.CodeInvalid:              {422, "The input is not valid."},
	domain.CodeUnknownModel:         {422, "There is no such model."},
	domain.CodeModelNotConfigured:   {422, "The model is not configured."},
	domain.CodeUnknownAgent:         {422, "There is no such agent."},
	domain.CodeAgentUnavailable:     {422, "The agent is not installed."},
	domain.CodeUnknownMCPServer:     {422, "There is no such MCP server."},
	domain.CodeNotResumable:         {422, "There is no agent session to take up."},
	domain.CodeSandboxUnavailable:   {422, "Nothing on this server can confine commands."},
	domain.CodePathOutsideWorkspace: {422, "The path leaves the workspace."},
	domain.CodePolicyDenied:         {422, "The execution's policy does not allow this."},
	domain.CodeUnknownSecret:        {422, "There is no such secret."},
	domain.CodeSecretExposed:        {422, "The request holds the value of a secret."},
	domain.CodeTemplate:             {422, "A template cannot be rendered."},
	domain.CodeRevisionRequired:     {428, "This needs the revision of what it is about."},
	domain.CodeHashRequired:         {428, "Approving needs the hash of what was shown."},
	codeHeadersTooLarge:             {431, "The headers are too large."},
	domain.CodeTooMany:              {429, "There is no room for more."},
	domain.CodeInternal:             {500, "Something went wrong inside Signoff."},
	domain.CodeStorage:              {503, "The database does not answer."},
	domain.CodeUnavailable:          {503, "The service cannot take this now."},
	domain.CodeOverloaded:           {503, "There is no room for anything more."},
}

const (
	retryAfter = "2" // seconds
	// retryQueue is for a queue that is full: it moves when an execution ends, and most take minutes.
	retryQueue = "15"

	// A problem stays small whatever the input was.
	maxDetailLength = 300
)

// conflict is an error together with what it conflicts with.
type conflict struct {
	error
	approval   *api.Approval
	execution  *api.Execution
	generation *api.GenerationSummary
	toolCall   *api.ClientCall
}

func (c *conflict) Unwrap() error { return c.error }

// newProblem says err in the words of the contract. What has no code keeps its text to itself, and secrets are masked: a
// message may quote the input, and a pointer may hold a name that the client made up.
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
		problem.Detail = "There is no such thing, or it is not yours to see." // one text, so that nobody can tell which
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
		details = append(details, domain.Detail{
			// Masked before it is cut: half a secret is not known as one.
			Pointer: shorten(printable(mask(d.Pointer)), maxDetailLength), Message: shorten(mask(d.Message), maxDetailLength),
		})
	}
	sort.SliceStable(details, func(i, j int) bool { return details[i].Pointer < details[j].Pointer })
	details = details[:min(len(details), contract.MaxDetails)]
	return &details
}

// fail answers r with a problem, and logs what the client is not told.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	info := infoOf(r.Context())
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		info.abandoned = true
		panic(http.ErrAbortHandler) // who is not gone but only done with sending would read nothing at all as an empty 200
	}
	problem := newProblem(err, info.requestID, s.masker.MaskString)
	if problem.Status >= http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "request failed", "requestId", info.requestID, "error", err)
	}
	if info.wrote() { // a response is under way; all that is left is to break it off
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, problem)
}

// comeBack is after how many seconds it may be otherwise.
func comeBack(code domain.Code) string {
	switch code {
	case domain.CodeTooMany, domain.CodeOverloaded:
		return retryQueue
	default:
		return retryAfter
	}
}

func writeProblem(w http.ResponseWriter, problem api.Problem) {
	body, err := json.Marshal(problem)
	if err != nil { // unreachable: strings, and JSON that came from the store
		body = []byte(`{"type":"/openapi.yaml#internal","title":"Something went wrong inside Signoff.","status":500}`)
	}
	header := w.Header()
	switch problem.Status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="signoff"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		header.Set("Retry-After", comeBack(problem.Code))
	case http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		header.Set("Connection", "close") // do not read on what nobody wants
	}
	header.Set("Content-Type", "application/problem+json")
	w.WriteHeader(problem.Status)
	w.Write(append(body, '\n'))
}

// printable keeps out what no reader of an answer expects: a name that the client made up can hold anything.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, text)
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

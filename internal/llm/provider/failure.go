package provider

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"signoff/internal/domain"
)

const (
	maxProviderText = 300                 // characters of a vendor's own words in a message
	longestAfter    = 30 * 24 * time.Hour // that a vendor may ask us to wait
)

// Error is what went wrong with a request to a model, and whether the same request may do better.
type Error struct {
	Shown *domain.Error // fit to be shown to anybody
	Retry bool
	Once  bool          // but no more than once
	Mend  bool          // it does better only after somebody has mended something
	Other bool          // a refusal of the request whose reason is certainly not the state of earlier answers; see [StateRefusals]
	After time.Duration // how long the vendor asks to wait; 0 = it does not say

	Setting string // for which the vendor calls the request wrong; empty = for something else
}

// Error implements error.
func (f *Error) Error() string { return f.Shown.Error() }

// Unwrap makes the failure that of its code.
func (f *Error) Unwrap() error { return f.Shown }

// Mendable tells whether the same request may be served later: the vendor comes back, or somebody mends the key, the account or the address.
func (f *Error) Mendable() bool {
	switch f.Shown.Code {
	case domain.CodeModelUnauthorized, domain.CodeQuotaExceeded, domain.CodeModelNotConfigured:
		return true
	default:
		return f.Mend || f.Retry && !f.Once
	}
}

// Refused reports whether the vendor calls the request wrong in itself, and for no setting.
func (f *Error) Refused() bool {
	var answered *statusError
	if f.Setting != "" || f.Shown.Code != domain.CodeModelFailed || !errors.As(f, &answered) {
		return false
	}
	return answered.status == http.StatusBadRequest || answered.status == http.StatusUnprocessableEntity
}

// RefusedState reports whether the vendor calls the request wrong, and nothing says that the state of earlier answers is not the reason. Without
// it, the request may do better.
func (f *Error) RefusedState() bool { return f.Refused() && !f.Other }

// Elsewhere tells whether another model may do better. It would refuse a request that is wrong in itself as well, and
// a conversation that is too long for one model is not to be handed around. A content filter is the vendor's, and finds the words of an
// incident in a harmless request; another vendor has another one.
func (f *Error) Elsewhere() bool {
	switch f.Shown.Code {
	case domain.CodeQuotaExceeded, domain.CodeContentFiltered: // whatever the status was that said so
		return true
	}
	var answered *statusError
	if errors.As(f, &answered) {
		switch answered.status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			return false
		}
	}
	switch f.Shown.Code {
	case domain.CodeModelUnauthorized, domain.CodeModelNotConfigured, domain.CodeModelUnreachable,
		domain.CodeModelFailed, domain.CodeModelStreamBroken:
		return true
	default:
		return false
	}
}

// ErrorOf returns err as a failure; a client that returns another error has a bug.
func ErrorOf(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Shown: domain.Errorf(domain.CodeModelFailed, "The request to the model failed.").With(err)}
}

// Broken is the failure of an answer that began and did not end.
func Broken(cause error, format string, args ...any) *Error {
	return &Error{Shown: domain.Errorf(domain.CodeModelStreamBroken, format, args...).With(cause), Retry: true}
}

// TooLarge is not worth another try: the model would do it again, and somebody pays for each time.
func TooLarge(what string) *Error {
	return &Error{Shown: domain.Errorf(domain.CodeModelFailed, "The model's answer was given up: %s.", what)}
}

// errIdle means that the provider was silent for too long; see guard.
var errIdle = errors.New("provider: no byte for too long")

// statusError is an answer that is not a stream; see guard.
type statusError struct {
	status  int
	header  http.Header
	message string // of the provider, not yet fit to be shown
	code    string
	reasons []string // of a content filter: its categories, not yet fit to be shown
	plain   bool     // the body is no JSON
}

// Error implements error.
func (e *statusError) Error() string {
	return "provider: the vendor answered " + strconv.Itoa(e.status)
}

// Failures says what went wrong with requests to one model, in words that may be shown.
type Failures struct {
	model    string // its name in the registry
	key      string // never shown, also where it is too short for the masker; empty = none
	masker   Masker
	statusOf func(code string) int
	state    StateRefusals
}

// NewFailures is for one client. statusOf knows the status that an error has when it comes before the stream, by the code that the
// vendor gives it within; 0 = no such code.
func NewFailures(model Model, setup Setup, statusOf func(code string) int, state StateRefusals) Failures {
	return Failures{model: model.Name, key: model.APIKey, masker: setup.Masker, statusOf: statusOf, state: state}
}

// StateRefusals are the sentences with which a vendor calls a request wrong, each matched together with its code: those about the state of earlier answers,
// and those that are certainly about something else. A sentence about both, or one that nobody knows, may be about the state.
type StateRefusals struct{ About, Other *regexp.Regexp }

// other reports whether a refusal is certainly not about state.
func (s StateRefusals) other(code, message string) bool {
	said := code + " " + message
	return s.Other != nil && s.Other.MatchString(said) && !s.About.MatchString(said)
}

// Of returns the error of a request whose stream has ended without an answer, or did not begin: a [*Error], or that of ctx.
func (f Failures) Of(ctx context.Context, err error) error {
	var reported *ReportedError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &reported):
		return f.reported(reported.Data)
	case errors.Is(err, ErrEnded):
		return Broken(nil, "The answer of model %q ended without saying why.", f.model)
	default:
		return f.classify(err)
	}
}

// classify tells what an error of the HTTP round trip or of the stream behind it means.
func (f Failures) classify(err error) *Error {
	var (
		answered *statusError
		limit    *limitError
		trip     *url.Error
	)
	switch {
	case errors.As(err, &answered):
		return answered.failure(f)
	case errors.As(err, &limit):
		return TooLarge(limit.what)
	case errors.Is(err, errIdle):
		return Broken(err, "The provider of model %q fell silent.", f.model)
	case errors.As(err, &trip):
		return &Error{Retry: true, Shown: domain.Errorf(domain.CodeModelUnreachable,
			"No connection to the provider of model %q: %s.", f.model, connectionTrouble(err)).With(err)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Broken(err, "The answer of model %q broke off.", f.model)
	default:
		return Broken(err, "The answer of model %q cannot be read.", f.model)
	}
}

// failure maps a status. What another attempt could change is repeated: overload, and errors of the server itself.
func (e *statusError) failure(f Failures) *Error {
	switch {
	case e.empty():
		return e.outOfCredit(f)
	case e.filtered():
		return f.filteredRequest(e)
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden || e.status == http.StatusBadRequest && wrongKey.MatchString(e.message):
		return &Error{Shown: domain.Errorf(domain.CodeModelUnauthorized,
			"The provider of model %q does not accept the key (%d).", f.model, e.status).With(e)}
	case e.overflow():
		return e.overflowed(f)
	}
	said := cmp.Or(f.shorten(e.message), statusText(e.status), "it does not say why")
	if e.foreign() {
		return &Error{Mend: true, Shown: domain.Errorf(domain.CodeModelFailed,
			"The address of model %q answered %d, and not as a model's API does: %s. The address may be wrong, or a proxy before it.",
			f.model, e.status, said).With(e)}
	}
	return &Error{
		Shown: domain.Errorf(domain.CodeModelFailed, "The provider of model %q answered %d: %s", f.model, e.status, said).With(e),
		Retry: e.repeatable(),
		Other: f.state.other(e.code, e.message),
		After: retryAfter(e.header, time.Now()),
	}
}

// wrongKey finds the sentence in which Gemini's endpoint refuses a key: it does so with the status of a request that is wrong.
var wrongKey = regexp.MustCompile(`(?i)api key (not valid|expired)`)

// foreign tells whether the response does not come from a model's API, which reports an unknown model in JSON. A proxy or a load
// balancer answered, for instance during a deployment. The response says nothing about the request, so it must not fail an execution.
func (e *statusError) foreign() bool {
	switch e.status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return e.plain
	case http.StatusProxyAuthRequired:
		return true
	default:
		return e.status >= 300 && e.status < 400
	}
}

func (e *statusError) repeatable() bool {
	switch e.status {
	case http.StatusOK: // but no stream, see guard
		return true
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusConflict:
		return true
	case http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	default:
		return e.status >= 500
	}
}

// reported reads an error that came as an event, after the status 200.
func (f Failures) reported(data []byte) *Error {
	told := &statusError{}
	told.message, told.code, told.reasons = errorText(data)
	told.status = f.statusOf(told.code)
	switch {
	case told.empty():
		return told.outOfCredit(f)
	case told.filtered():
		return f.filteredRequest(told)
	case told.overflow():
		return told.overflowed(f)
	case told.status != 0:
		return told.failure(f)
	}
	return &Error{
		Shown: domain.Errorf(domain.CodeModelFailed, "The provider of model %q reported an error: %s",
			f.model, f.shorten(told.message)),
		Retry: true,
	}
}

// noCredit finds the sentence in which a provider says that the account has nothing left. Anthropic says it with the code of a
// request that is wrong. What is said with 429 is not looked at: Gemini speaks of quota and billing there, and means a minute.
var noCredit = regexp.MustCompile(`(?i)credit balance is too low|insufficient (credits?|balance|funds|quota)`)

// empty tells whether the provider's account has nothing left, which waiting does not fill.
func (e *statusError) empty() bool {
	switch e.code {
	case "insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached":
		return true
	}
	switch e.status {
	case http.StatusPaymentRequired:
		return true
	case 0, http.StatusOK, http.StatusBadRequest, http.StatusForbidden:
		return noCredit.MatchString(e.message)
	default:
		return false
	}
}

// outOfCredit is final for this model, and says nothing of the others.
func (e *statusError) outOfCredit(f Failures) *Error {
	said := cmp.Or(f.shorten(e.message), "it does not say more")
	return &Error{Shown: domain.Errorf(domain.CodeQuotaExceeded,
		"The account at the provider of model %q has nothing left: %s", f.model, said).With(e)}
}

// contentFilter finds the sentence in which a vendor's filter refuses a request: of Azure, DeepSeek, Kimi, OpenRouter, OpenAI and Anthropic.
var contentFilter = regexp.MustCompile(`(?i)content management policy|content exists risk|considered high risk|requires moderation|` +
	`flagged as potentially|blocked by content filter`)

// filtered reports whether a content filter has refused the request. Its code is that of OpenAI and Azure, Kimi's type, or Z.ai's number:
// https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter, https://platform.moonshot.ai/docs/api/chat#error-codes,
// https://docs.z.ai/api-reference/api-code. OpenRouter answers 403: https://openrouter.ai/docs/api/reference/errors-and-debugging
func (e *statusError) filtered() bool {
	switch e.status {
	case 0, http.StatusOK, http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity:
	default:
		return false
	}
	switch e.code {
	case "content_filter", "content_policy_violation", "1301":
		return true
	}
	return len(e.reasons) > 0 || contentFilter.MatchString(e.message)
}

// filteredRequest is final for this model, and says nothing of the others.
func (f Failures) filteredRequest(e *statusError) *Error {
	failed := f.filter("refused the request to", e.reasons...)
	if said := f.shorten(e.message); said != "" {
		failed.Shown.Message += " It says: " + said
	}
	failed.Shown.Cause = e
	return failed
}

// Filtered is the failure of an answer that the vendor's content filter has stopped. The reasons are the vendor's: categories, or a sentence.
func (f Failures) Filtered(reasons ...string) *Error {
	return f.filter("stopped the answer of", reasons...)
}

func (f Failures) filter(did string, reasons ...string) *Error {
	named := ""
	if said := f.shorten(strings.Join(reasons, ", ")); said != "" {
		named = " (" + said + ")"
	}
	return &Error{Shown: domain.Errorf(domain.CodeContentFiltered,
		"The content filter of the provider %s model %q%s. Other words or another model may pass.", did, f.model, named)}
}

// tooLong finds the sentence in which a provider says that the conversation does not fit. There is a code for it at
// OpenAI and a few servers; the others only say it, each in its own words.
var tooLong = regexp.MustCompile(`(?i)prompt is too long|context[ _-]?(length|window|size|limit)|maximum model length|` +
	`maximum context|input token count`)

// overflow tells whether the conversation is longer than the model can read. A shorter one would do; the same never.
func (e *statusError) overflow() bool {
	switch e.status {
	case 0, http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return e.code == "context_length_exceeded" || e.code == "exceed_context_size_error" || tooLong.MatchString(e.message)
	default:
		return false
	}
}

func (e *statusError) overflowed(f Failures) *Error {
	return &Error{Shown: domain.Errorf(domain.CodeContextOverflow,
		"The conversation is longer than model %q can read: %s", f.model, f.shorten(e.message)).With(e)}
}

// retryAfter reads how long the provider wants us to wait; 0 where it does not say.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(time.Millisecond, ms)
	}
	value := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return bounded(time.Second, seconds)
	}
	if date, err := http.ParseTime(value); err == nil && date.After(now) {
		return min(date.Sub(now), longestAfter)
	}
	return 0
}

// statusText is the name of a status; 529 is Anthropic's own: https://platform.claude.com/docs/en/api/errors
func statusText(status int) string {
	if status == 529 {
		return "Overloaded"
	}
	return http.StatusText(status)
}

func bounded(unit time.Duration, n float64) time.Duration {
	if n >= float64(longestAfter/unit) {
		return longestAfter
	}
	return time.Duration(n * float64(unit))
}

// connectionTrouble says in a few words, without any address, why a connection failed.
func connectionTrouble(err error) string {
	var (
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		timeout     net.Error
		system      syscall.Errno
	)
	switch {
	case errors.As(err, &dns):
		return "its host name is not known"
	case errors.As(err, &certificate):
		return "its certificate is not trusted"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case errors.As(err, &system):
		return system.Error()
	case errors.Is(err, io.EOF):
		return "it closed the connection"
	default:
		return "the connection failed"
	}
}

var (
	addresses = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S+`)
	// halfKeys are keys as vendors quote them, with stars in their middle. Whole ones are the masker's to find.
	halfKeys = regexp.MustCompile(`\b(?:sk|pk|key)[-_][A-Za-z0-9_*.\-]{8,}`)
)

// shorten returns one line without secrets and addresses, that is not long. What is hidden is hidden before anything is cut.
func (f Failures) shorten(text string) string {
	if f.key != "" { // also one that is too short for the masker
		text = strings.ReplaceAll(text, f.key, "[key]")
	}
	text = f.masker.MaskString(text)
	text = addresses.ReplaceAllString(text, "[address]")
	text = halfKeys.ReplaceAllString(text, "[key]")
	return OneLine(text, maxProviderText)
}

// OneLine is a text on one line, without what cannot be printed, and with at most so many characters.
func OneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}

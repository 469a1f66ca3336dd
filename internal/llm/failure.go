package llm

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

const maxProviderText = 300 // characters of a provider's own words in a message

// statusOverloaded is Anthropic's own.
const statusOverloaded = 529

// failure is what went wrong with a request to a model, and whether the same request may do better.
type failure struct {
	shown *domain.Error
	retry bool
	once  bool          // but no more than once
	mend  bool          // it does better only after somebody has mended something
	after time.Duration // the provider's wish; 0 = none
}

func (f *failure) Error() string { return f.shown.Error() }
func (f *failure) Unwrap() error { return f.shown }

// mendable tells whether the same request may be served later: the provider comes back, or somebody mends the key, the account or the address.
func (f *failure) mendable() bool {
	switch f.shown.Code {
	case domain.CodeModelUnauthorized, domain.CodeQuotaExceeded, domain.CodeModelNotConfigured:
		return true
	default:
		return f.mend || f.retry && !f.once
	}
}

// unavailable is an error of the provider that does not end the execution, see [domain.ErrProviderUnavailable].
func unavailable(shown *domain.Error) *domain.Error {
	return domain.Errorf(shown.Code, "%s", shown.Message).With(errors.Join(domain.ErrProviderUnavailable, shown))
}

// failureOf returns err as a failure; a provider that returns another error has a bug.
func failureOf(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	return &failure{shown: domain.Errorf(domain.CodeModelFailed, "The request to the model failed.").With(err)}
}

// broken is the failure of an answer that began and did not end.
func broken(cause error, format string, args ...any) *failure {
	return &failure{shown: domain.Errorf(domain.CodeModelStreamBroken, format, args...).With(cause), retry: true}
}

// tooLarge is not worth another try: the model would do it again, and somebody pays for each time.
func tooLarge(what string) *failure {
	return &failure{shown: domain.Errorf(domain.CodeModelFailed, "The model's answer was given up: %s.", what)}
}

// errIdle means that the provider was silent for too long; see guard.
var errIdle = errors.New("llm: no byte for too long")

// statusError is an answer that is not a stream; see guard.
type statusError struct {
	status  int
	header  http.Header
	message string // of the provider, not yet fit to be shown
	code    string
	plain   bool // the body is no JSON
}

func (e *statusError) Error() string { return "llm: provider answered " + strconv.Itoa(e.status) }

// classify tells what an error of the HTTP round trip or of the stream behind it means. What hide hides is never shown.
func classify(err error, model string, hide hiding) *failure {
	var (
		answered *statusError
		limit    *limitError
		trip     *url.Error
	)
	switch {
	case errors.As(err, &answered):
		return answered.failure(model, hide)
	case errors.As(err, &limit):
		return tooLarge(limit.what)
	case errors.Is(err, errIdle):
		return broken(err, "The provider of model %q fell silent.", model)
	case errors.As(err, &trip):
		return &failure{retry: true, shown: domain.Errorf(domain.CodeModelUnreachable,
			"No connection to the provider of model %q: %s.", model, connectionTrouble(err)).With(err)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return broken(err, "The answer of model %q broke off.", model)
	default:
		return broken(err, "The answer of model %q cannot be read.", model)
	}
}

// failure maps a status. What another attempt could change is repeated: overload, and errors of the server itself.
func (e *statusError) failure(model string, hide hiding) *failure {
	switch {
	case e.empty():
		return e.outOfCredit(model, hide)
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return &failure{shown: domain.Errorf(domain.CodeModelUnauthorized,
			"The provider of model %q does not accept the key (%d).", model, e.status).With(e)}
	case e.overflow():
		return e.overflowed(model, hide)
	}
	said := cmp.Or(hide.shorten(e.message), http.StatusText(e.status), "it does not say why")
	if e.foreign() {
		return &failure{mend: true, shown: domain.Errorf(domain.CodeModelFailed,
			"The address of model %q answered %d, and not as a model's API does: %s. The address may be wrong, or a proxy before it.",
			model, e.status, said).With(e)}
	}
	return &failure{
		shown: domain.Errorf(domain.CodeModelFailed, "The provider of model %q answered %d: %s", model, e.status, said).With(e),
		retry: e.repeatable(),
		after: retryAfter(e.header, time.Now()),
	}
}

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

// eventFailure reads an error that came as an event, after the status 200. statusOf knows the status that belongs to the
// vendor's code.
func eventFailure(data []byte, statusOf func(code string) int, model string, hide hiding) *failure {
	told := &statusError{}
	told.message, told.code = errorText(data)
	told.status = statusOf(told.code)
	switch {
	case told.empty():
		return told.outOfCredit(model, hide)
	case told.overflow():
		return told.overflowed(model, hide)
	case told.status != 0:
		return told.failure(model, hide)
	}
	return &failure{
		shown: domain.Errorf(domain.CodeModelFailed, "The provider of model %q reported an error: %s",
			model, hide.shorten(told.message)),
		retry: true,
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
func (e *statusError) outOfCredit(model string, hide hiding) *failure {
	said := cmp.Or(hide.shorten(e.message), "it does not say more")
	return &failure{shown: domain.Errorf(domain.CodeQuotaExceeded,
		"The account at the provider of model %q has nothing left: %s", model, said).With(e)}
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

func (e *statusError) overflowed(model string, hide hiding) *failure {
	return &failure{shown: domain.Errorf(domain.CodeContextOverflow,
		"The conversation is longer than model %q can read: %s", model, hide.shorten(e.message)).With(e)}
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

// hiding makes a provider's words fit to be shown.
type hiding struct {
	mask mask
	key  string // of the model; empty = none
}

var (
	addresses = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://\S+`)
	// halfKeys are keys as vendors quote them, with stars in their middle. Whole ones are the masker's to find.
	halfKeys = regexp.MustCompile(`\b(?:sk|pk|key)[-_][A-Za-z0-9_*.\-]{8,}`)
)

// shorten returns one line without secrets and addresses, that is not long. What is hidden is hidden before anything is cut.
func (h hiding) shorten(text string) string {
	if h.key != "" { // also one that is too short for the masker
		text = strings.ReplaceAll(text, h.key, "[key]")
	}
	text = h.mask.MaskString(text)
	text = addresses.ReplaceAllString(text, "[address]")
	text = halfKeys.ReplaceAllString(text, "[key]")
	return oneLine(text)
}

func oneLine(text string) string {
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
	if runes := []rune(text); len(runes) > maxProviderText {
		text = fmt.Sprintf("%s…", string(runes[:maxProviderText-1]))
	}
	return text
}

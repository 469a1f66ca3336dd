package provider

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// Provider is what the agent has to know of one vendor's API, or of all servers that speak alike. Each provider's folder has one,
// which never changes, and package llm lists them in a table.
type Provider struct {
	// Name is what the configuration calls it.
	Name string

	// Address is the vendor's own, for models that have none. A provider without an address asks nobody: its models need neither an
	// address nor a name.
	Address string

	// KeyEnv is the variable that the key of its models is read from where they name none; empty = there is none that everybody uses.
	KeyEnv string

	// NeedsAddress tells that each model must have an address of its own.
	NeedsAddress bool

	// Check returns what the API would refuse in every request to the model, or the model in every answer. Its errors come from
	// [domain.Invalid], with a pointer of [Model.Pointer]. nil = there is nothing to check.
	Check func(Model) error

	// Reserved is how many tokens of its window the model keeps free for an answer with these settings: a request with more is refused.
	// nil = those of the settings.
	Reserved func(Model, domain.ModelSettings) int

	// Settings returns which settings the vendor of a model is known to have, beside those that are given: some exclude each other. nil = nobody
	// knows, and all are sent.
	Settings func(Model, domain.ModelSettings) SettingRules

	// Schema returns the rules for a schema that the model holds its answers to, in a request with tools or without; nil = it cannot, or
	// nobody knows. A nil function is the same.
	Schema func(m Model, withTools bool) *SchemaRules

	// CacheRead and CacheWrite are what a token costs that the vendor reads from its cache or writes to it, in parts of the price
	// of a token of input, for models that have no prices of their own for it. 0 = nobody knows.
	CacheRead, CacheWrite float64

	// Media are the media types of pictures and files that the model is sent, beside text files, which are text by then. A prompt with another type is
	// refused. A nil function is none.
	Media func(Model) []string

	// Pictures are the bounds of the pictures that the vendor takes. A larger one is scaled down for it. One that cannot be scaled gets the vendor's
	// refusal in a prompt. Later requests, and results of calls, leave it out if it has too many bytes: the vendor would refuse each of them. nil = nobody
	// knows.
	Pictures *PictureBounds

	// Open returns the client of one model. It connects to nothing.
	Open func(Model, Setup) Client
}

// Model is one entry of the registry. Package llm has checked it, and filled in name and address, before a provider sees it.
type Model struct {
	Name          string // of the entry; the key of the map that it stands in
	Provider      string // the name of its [Provider]
	Model         string // the vendor's name for it
	BaseURL       string // of the API, with its path prefix; empty = the vendor's own
	APIKey        string // may be empty: local servers need none
	APIKeyEnv     string // the variable that APIKey was read from, for messages; empty = no key is wanted
	ContextWindow int    // tokens; 0 = unknown
	Compaction    string // how room is made near the window's end: [CompactionCut] or [CompactionSummary]; empty = the first

	// How the model answers if a request does not say otherwise. No request gets more than MaxOutputTokens.
	MaxOutputTokens   int // of one answer, thinking included; 0 = the vendor's own limit; Anthropic's: the thinking, and what is usual
	ThinkingTokens    int // Anthropic's, of them, for thinking; 0 = the model does not think before it speaks
	Effort            domain.Effort
	Temperature       *float64
	Seed              *int64
	ParallelToolCalls *bool

	// What a request may say.
	RequestSettings *[]string     // the names of the settings; nil = all
	MaxEffort       domain.Effort // the highest; empty = no limit

	// What is added to each request; see [CheckExtra].
	ExtraBody    map[string]json.RawMessage
	ExtraHeaders map[string]string

	// What a million tokens cost, in whatever currency the operator reckons in; nil = unknown. The provider may know what
	// the cache costs where the entry does not say.
	InputCostPer1m      *float64
	OutputCostPer1m     *float64
	CacheReadCostPer1m  *float64
	CacheWriteCostPer1m *float64
}

// The kinds of compaction.
const (
	CompactionCut     = "cut"     // old tool results are cut
	CompactionSummary = "summary" // the model writes a summary of what is older
)

// Pointer is the place of a field of the entry in the configuration; an empty field is the entry itself.
func (m Model) Pointer(field string) string {
	if field == "" {
		return "/models/" + m.Name
	}
	return "/models/" + m.Name + "/" + field
}

// NoThinkingTokens is the Check of an API that does not count them.
func NoThinkingTokens(m Model) error {
	if m.ThinkingTokens > 0 {
		return domain.Invalid(m.Pointer("thinkingTokens"), "model %q has thinking tokens, which the provider %s does not take; it may take an effort", m.Name, m.Provider)
	}
	return nil
}

// Setup is what all clients have in common.
type Setup struct {
	Transport   http.RoundTripper // to the vendors
	IdleTimeout time.Duration     // between two bytes of a stream, the first included
	Masker      Masker            // of what vendors say of a failure
	Pace        time.Duration     // between two pieces of an answer that is not written by a model; 0 = none
}

// Masker hides the values of secrets in a text.
type Masker interface{ MaskString(text string) string }

// Client asks one model. It keeps nothing between two requests: the whole conversation travels each time. Its methods may be called at
// once from several goroutines.
type Client interface {
	// Stream sends one request, once, and hands on what the model thinks and says as it arrives, from the calling
	// goroutine. It returns when the answer has come to its end. It never repeats anything: that is the agent's.
	//
	// Its error is a [*Error], or ctx's, or sink's, unchanged. Beside an error, the answer has the usage that the vendor
	// had told by then, and nothing else.
	Stream(ctx context.Context, request Request, sink Sink) (Answer, error)

	// Probe returns why the model cannot be used now, in words that may be shown, or nil. It costs nobody money, and may answer
	// nil of what it cannot find out.
	Probe(ctx context.Context) error
}

// Request is one question to a model. Its messages are in good order: each call has its result right behind the answer that asked.
type Request struct {
	System   string
	Messages []domain.Message
	Tools    []tools.Definition
	Schema   json.RawMessage          // of the answer, as [SchemaRules.Strict] writes it for this model; nil = none
	Files    map[domain.FileID][]byte // the bytes of all files that the parts of Messages name, each of a type of [Provider.Media]
	Settings domain.ModelSettings     // the request's, and the entry's where it has none; the zero value = the vendor's defaults
	CacheKey string                   // the same for all requests that begin alike, so that a vendor may send them to the same cache; empty = none
}

// Sink takes what the model says. When it fails, nobody listens any more.
type Sink interface {
	Text(text string) error
	Thought(text string) error
}

// Answer is what a whole answer amounts to, besides its text.
type Answer struct {
	Calls  []Call
	State  []Part // of the message; see [State]
	Finish Finish
	Usage  domain.Usage // of this request; the cache's figures are parts of the input, the reasoning of the output
}

// Call is a tool call as the model wrote it. Its id may be empty, doubled or used again, so each call gets one of ours, which is the
// public one; the model's own goes back to it on the wire, see [WireIDs].
type Call struct {
	ID        string
	Name      string
	Arguments string
	State     []Part // see [State]
}

// Finish is why the model stopped.
type Finish int

// The reasons that make a difference to the agent.
const (
	FinishStop    Finish = iota // it has said what it wanted, or wants tools
	FinishLength                // its token limit
	FinishRefusal               // it declined, in its own words; a content filter is a failure, see [Failures.Filtered]
)

// mostTokens is more than any request has; a larger figure is nonsense, and sums of it would overflow.
const mostTokens = 1 << 40

// Plausible is a figure of tokens as a vendor reported it, or nil where it cannot be one.
func Plausible(tokens *int64) *int64 {
	if tokens == nil || *tokens < 0 || *tokens > mostTokens {
		return nil
	}
	return tokens
}

package providertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"signoff/internal/llm/provider"
)

// What the suite's model is called, and the key that it has.
const (
	Key       = "sk-suite-0123456789abcdef"
	ModelName = "vendor-model"

	idle = 2 * time.Minute
)

// Dialect is how a vendor writes what every vendor says, and reads what every vendor is told.
type Dialect struct {
	Provider provider.Provider
	Wire     func(pieces ...Piece) string // the stream's body
	Fail     func(status int, message string) string
	// FailEvent is the same in the middle of a stream.
	FailEvent func(status int, message string) string
	Overflow  string // the body of the 400 for a conversation that is too long
	Filtered  string // and for one that a content filter does not let pass
	Address   string // that a request goes to, where the API is at http://vendor.test/prefix/v1
	KeyHeader string
	Key       string // in it
	Read      func(t *testing.T, body []byte) Conversation

	TellsRefusals bool // a refusal by the model is told from other words of it
}

// Open returns a client of the suite's model.
func (d Dialect) Open(transport http.RoundTripper) provider.Client {
	return d.open(transport, Key)
}

func (d Dialect) open(transport http.RoundTripper, key string) provider.Client {
	model := provider.Model{Name: "suite", Provider: d.Provider.Name, Model: ModelName, BaseURL: "http://vendor.test/prefix/v1", APIKey: key}
	return d.Provider.Open(model, Setup(transport))
}

// Setup is one without secrets.
func Setup(transport http.RoundTripper) provider.Setup {
	return provider.Setup{Transport: transport, IdleTimeout: idle, Masker: unmasked{}}
}

type unmasked struct{}

func (unmasked) MaskString(text string) string { return text }

// Piece is a part of an answer: one of its fields is set.
type Piece struct {
	Text, Thought string
	Refusal       string // the model's words
	Call          *CallSaid
	Stop          string // stop, tools, length, filter, or a word of the vendor's own
	Usage         *UsageSaid
	Raw           string
}

// CallSaid is a piece of a call.
type CallSaid struct {
	Number    int
	ID        string // in the first piece; empty: one that no other call has
	Name      string // in the first piece of a call
	Arguments string
}

// UsageSaid is what an answer has cost.
type UsageSaid struct{ Fresh, CacheRead, CacheWrite, Output, Reasoning int64 }

// Saying is a piece of text.
func Saying(text string) Piece { return Piece{Text: text} }

// Thinking is a piece of a thought.
func Thinking(thought string) Piece { return Piece{Thought: thought} }

// Stopping is the end of an answer.
func Stopping(reason string) Piece { return Piece{Stop: reason} }

// Verbatim is lines of the stream as they stand.
func Verbatim(lines string) Piece { return Piece{Raw: lines} }

// Calling is a piece of the call with this number.
func Calling(number int, name, arguments string) Piece {
	return Piece{Call: &CallSaid{Number: number, Name: name, Arguments: arguments}}
}

// callingAs is the first piece of a call with an id of its own choice.
func callingAs(id string, number int, name, arguments string) Piece {
	return Piece{Call: &CallSaid{ID: id, Number: number, Name: name, Arguments: arguments}}
}

// Conversation is what a vendor was asked, in no vendor's words.
type Conversation struct {
	System   string
	Tools    []string
	Messages []Message
}

// Message is one thing that was said, called or answered.
type Message struct{ Role, Text, Call, Result string }

// InJSON writes text as JSON, bytes above 127 and "<" as they are.
func InJSON(text string) string { return inJSON(text) }

func inJSON(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(buffer.String())
}

// Decode reads the body of a request.
func Decode(t *testing.T, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("the request cannot be read: %v\n%s", err, body)
	}
}

package providertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Mock is a vendor's server as strict as the real one: it answers 400 to a conversation whose state is missing, reordered, altered, or
// another model's. It is a transport; each of its answers thinks, and each turn has three of them: two calls at once, one call, a text.
//
// What it demands is written from the vendors' public pages, which each [MockDialect] names; it shares no code with the providers.
type Mock struct {
	Dialect MockDialect
	Model   string // the state of another model is refused

	// Remembers has the vendor refuse each answer of its own that comes back without its state, whatever turn it is of. The real ones mostly
	// take it, and answer worse.
	Remembers bool

	Tool, Argument string // that it calls, and the text that the tool takes; empty = bash and its command

	// ByValue has the vendor read what comes back as the real ones do: arguments as JSON, items of a Responses API without their ids. Otherwise an answer must
	// come back letter by letter, which our providers promise and clients of others do not.
	ByValue bool

	// Away tells which requests, counted from 1, find the vendor refusing the key; nil = none.
	Away func(request int) bool

	mu       sync.Mutex
	requests int
	answers  []*MockAnswer
	bodies   [][]byte
	refusals []string
}

// MockDialect is how a vendor speaks.
type MockDialect struct {
	Name string
	// Read takes a request apart, and returns why the vendor refuses it, or "".
	Read func(m *Mock, body []byte) (rounds int, refusal string)
	// CallID is the id of a call; nil = one of letters, digits and lines.
	CallID func(m *Mock, answer, call int) string
	// Stream is an answer as a request with "stream": true has it, and Whole as one without has it.
	Stream, Whole func(answer *MockAnswer) string
}

// MockAnswer is an answer that a [Mock] has given.
type MockAnswer struct {
	Number    int
	Model     string
	Thought   string
	Signature string // of the model, for this answer
	Calls     []MockCall
	Text      string
}

// MockCall is a call of such an answer.
type MockCall struct{ ID, Name, Arguments string }

// RoundTrip implements http.RoundTripper.
func (m *Mock) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if m.Away != nil && m.Away(m.requests) {
		return answering(http.StatusUnauthorized, "application/json", `{"error":{"message":"no such key"}}`)(request)
	}
	m.bodies = append(m.bodies, body)
	rounds, refusal := m.Dialect.Read(m, body)
	if refusal != "" {
		m.refusals = append(m.refusals, refusal)
		return answering(http.StatusBadRequest, "application/json", `{"error":{"message":`+InJSON(refusal)+`}}`)(request)
	}
	answer := m.next(rounds)
	m.answers = append(m.answers, answer)
	if streams(body) {
		return Stream(m.Dialect.Stream(answer))(request)
	}
	return answering(http.StatusOK, "application/json", m.Dialect.Whole(answer))(request)
}

// streams reports whether a request asks for a stream.
func streams(body []byte) bool {
	var request struct{ Stream bool }
	return readJSON(body, &request) == "" && request.Stream
}

// next is the answer after so many rounds of calls in the turn. A turn that another model began may have more than three.
func (m *Mock) next(rounds int) *MockAnswer {
	n := len(m.answers) + 1
	answer := &MockAnswer{Number: n, Model: m.Model, Thought: fmt.Sprintf("Thought %d of %s: <日本> & so.\n", n, m.Model), Signature: fmt.Sprintf("sig+%s/%d==", m.Model, n)}
	if rounds == 1 {
		answer.Text = fmt.Sprintf("I look again, %d%s", n, m.sign())
	}
	if rounds >= 2 {
		answer.Text = fmt.Sprintf("Done, %d%s", n, m.sign())
		return answer
	}
	for k := range 2 - rounds {
		answer.Calls = append(answer.Calls, MockCall{
			ID: m.callID(n, k), Name: cmp.Or(m.Tool, "bash"),
			Arguments: fmt.Sprintf(`{"%s":  "echo %d.%d%s"}`, cmp.Or(m.Argument, "command"), n, k, m.sign()),
		})
	}
	return answer
}

func (m *Mock) callID(answer, call int) string {
	if m.Dialect.CallID != nil {
		return m.Dialect.CallID(m, answer, call)
	}
	return fmt.Sprintf("own_%s_%d_%d", strings.ReplaceAll(m.Model, ".", "-"), answer, call)
}

// sign is at the end of each text and command of the model.
func (m *Mock) sign() string { return " by " + m.Model + "." }

// forgotten reports whether a text or the arguments of a call, which have come back without state, are of an answer of this model that must have
// its state.
func (m *Mock) forgotten(said string) bool { return m.Remembers && strings.Contains(said, m.sign()) }

// byText finds an answer that says this and asks for nothing.
func (m *Mock) byText(text string) *MockAnswer {
	for _, answer := range m.answers {
		if answer.Text == text && len(answer.Calls) == 0 {
			return answer
		}
	}
	return nil
}

// said finds the answer that asks for nothing and whose text stands in a content.
func (m *Mock) said(content []byte) *MockAnswer {
	for _, answer := range m.answers {
		if len(answer.Calls) == 0 && strings.Contains(string(content), InJSON(answer.Text)) {
			return answer
		}
	}
	return nil
}

// Refusals lists why requests were refused.
func (m *Mock) Refusals() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.refusals...)
}

// Bodies lists the requests that were read.
func (m *Mock) Bodies() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([][]byte(nil), m.bodies...)
}

// Judge returns why a request would be refused, or "".
func (m *Mock) Judge(body []byte) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, refusal := m.Dialect.Read(m, body)
	return refusal
}

// byCall finds an answer by the id of one of its calls, and bySignature by its signature.
func (m *Mock) byCall(id string) *MockAnswer {
	for _, answer := range m.answers {
		for _, call := range answer.Calls {
			if call.ID == id {
				return answer
			}
		}
	}
	return nil
}

func (m *Mock) bySignature(signature string) *MockAnswer {
	for _, answer := range m.answers {
		if answer.Signature == signature {
			return answer
		}
	}
	return nil
}

// sameCalls tells what is wrong with calls that bear ids of an answer.
func (m *Mock) sameCalls(a *MockAnswer, calls []MockCall) string {
	if len(calls) != len(a.Calls) {
		return fmt.Sprintf("answer %d asked for %d calls, not %d", a.Number, len(a.Calls), len(calls))
	}
	for i, call := range calls {
		if !m.sameCall(call, a.Calls[i]) {
			return fmt.Sprintf("call %d of answer %d was altered: %+v", i, a.Number, call)
		}
	}
	return ""
}

func (m *Mock) sameCall(call, made MockCall) bool {
	if m.ByValue && sameJSON([]byte(call.Arguments), []byte(made.Arguments)) {
		call.Arguments = made.Arguments
	}
	return call == made
}

// sameOrder tells what is wrong with results that stand behind calls.
func sameOrder(calls []MockCall, results []string) string {
	if len(calls) != len(results) {
		return fmt.Sprintf("%d calls have %d results behind them", len(calls), len(results))
	}
	for i, call := range calls {
		if call.ID != results[i] {
			return fmt.Sprintf("result %d is of the call %s", i, results[i])
		}
	}
	return ""
}

// readJSON reads a request, whose form the mock's caller vouches for.
func readJSON(body []byte, into any) string {
	if err := json.Unmarshal(body, into); err != nil {
		return "the request cannot be read: " + err.Error()
	}
	return ""
}

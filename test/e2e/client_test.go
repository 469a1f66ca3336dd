package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
	"signoff/test/harness"
)

// client speaks the public API, and fails its test where that answers what it must not.
type client struct {
	t *testing.T
	harness.Client
}

func newClient(t *testing.T, base, token string) client {
	return client{t, harness.Client{Base: base, Token: token}}
}

// with is the same client with another token.
func (c client) with(token string) client { c.Token = token; return c }

type headers map[string]string

// do sends a request and returns the answer with its body read.
func (c client) do(method, path string, body any, extra ...headers) (*http.Response, []byte) {
	c.t.Helper()
	response, err := c.try(context.Background(), method, path, body, extra...)
	must(c.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(c.t, err)
	return response, content
}

func (c client) try(ctx context.Context, method, path string, body any, extra ...headers) (*http.Response, error) {
	var pairs []string
	for _, h := range extra {
		for name, value := range h {
			pairs = append(pairs, name, value)
		}
	}
	response, err := c.Send(ctx, method, path, body, pairs...)
	if err == nil {
		response.Body = seen{io.TeeReader(response.Body, look("the answer to "+method+" "+path)), response.Body}
	}
	return response, err
}

// seen is a body in which somebody looks for canaries.
type seen struct {
	io.Reader
	io.Closer
}

// want sends a request, expects a status and decodes the answer.
func want[T any](c client, status int, method, path string, body any, extra ...headers) T {
	c.t.Helper()
	send := c.do
	if method == http.MethodGet && status != http.StatusServiceUnavailable {
		send = c.again
	}
	response, content := send(method, path, body, extra...)
	return wanted[T](c, status, method, path, response, content)
}

// again is do as every client should do it: a server whose database is slow answers 503 within seconds, and what can be sent twice is sent again.
func (c client) again(method, path string, body any, extra ...headers) (*http.Response, []byte) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		response, content := c.do(method, path, body, extra...)
		pause, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if response.StatusCode != http.StatusServiceUnavailable || err != nil || time.Now().After(deadline) {
			return response, content
		}
		time.Sleep(time.Duration(pause) * time.Second)
	}
}

func wanted[T any](c client, status int, method, path string, response *http.Response, content []byte) (into T) {
	c.t.Helper()
	if response.StatusCode != status {
		c.t.Fatalf("%s %s: %s instead of %d: %s", method, path, response.Status, status, content)
	}
	if len(content) > 0 {
		if err := json.Unmarshal(content, &into); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, content)
		}
	}
	return into
}

type problem struct {
	Code      string `json:"code"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Approval  *approval
	Execution *execution
	Errors    []struct{ Pointer, Message string }

	Generation *generationSummary
	ToolCall   *clientCall
}

// refused expects a problem with a code.
func (c client) refused(status int, code, method, path string, body any, extra ...headers) problem {
	c.t.Helper()
	response, content := c.do(method, path, body, extra...)
	var p problem
	if response.StatusCode != status || json.Unmarshal(content, &p) != nil || p.Code != code {
		c.t.Fatalf("%s %s: %s %s, want %d %s", method, path, response.Status, content, status, code)
	}
	if got := response.Header.Get("Content-Type"); got != "application/problem+json" {
		c.t.Fatalf("%s %s: a problem of type %s", method, path, got)
	}
	return p
}

type execution struct {
	ID               string       `json:"id"`
	Status           string       `json:"status"`
	LastSeq          int64        `json:"lastSeq"`
	Turn             int          `json:"turn"`
	AgentSession     *string      `json:"agentSession"`
	Usage            domain.Usage `json:"usage"`
	PendingApprovals []struct {
		ID string `json:"id"`
	} `json:"pendingApprovals"`
	Output *struct {
		Text         string `json:"text"`
		FinishReason string `json:"finishReason"`
		Error        *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"output"`
}

type approval struct {
	ID            string          `json:"id"`
	ExecutionID   string          `json:"executionId"`
	Kind          string          `json:"kind"`
	Status        string          `json:"status"`
	Tool          string          `json:"tool"`
	Summary       string          `json:"summary"`
	Arguments     json.RawMessage `json:"arguments"`
	ArgumentsHash string          `json:"argumentsHash"`
	Options       []object        `json:"options"`
	OptionsNote   *string         `json:"optionsNote"`
	ExpiresAt     *time.Time      `json:"expiresAt"`
	Question      *struct {
		Message string `json:"message"`
		Schema  object `json:"schema"`
	} `json:"question"`
	Decision *struct {
		Decision  string `json:"decision"`
		OptionID  string `json:"optionId"`
		Answer    object `json:"answer"`
		DecidedBy struct {
			Name string `json:"name"`
		} `json:"decidedBy"`
	} `json:"decision"`
}

type list[T any] = harness.Page[T]

type object = harness.Object

// create starts an execution.
func (c client) create(change ...object) execution {
	c.t.Helper()
	return created[execution](c, harness.With(object{"source": object{"type": "internal"}, "prompt": "go"}, change...))
}

// created starts an execution with a key, so that the request can be sent again.
func created[T any](c client, body object) T {
	c.t.Helper()
	response, content := c.again("POST", "/executions", body, headers{"Idempotency-Key": rand.Text()})
	return wanted[T](c, http.StatusCreated, "POST", "/executions", response, content)
}

func (c client) get(id string) execution {
	c.t.Helper()
	return want[execution](c, http.StatusOK, "GET", "/executions/"+id, nil)
}

// ended waits for the end of an execution by long polls.
func (c client) ended(id string) execution {
	c.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		if e := want[execution](c, http.StatusOK, "GET", "/executions/"+id+"?wait=20", nil); domain.Status(e.Status).Terminal() {
			return e
		}
	}
	c.t.Fatalf("execution %s does not end, it is %s", id, c.get(id).Status)
	panic("unreachable")
}

// waits has an answer wait for the end of an execution.
var waits = headers{"Prefer": "wait=60"}

// cancelled cancels an execution and returns it as it has ended, which the answer does not wait for.
func (c client) cancelled(id string, body any) execution {
	c.t.Helper()
	response, content := c.do("POST", "/executions/"+id+"/cancel", body)
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusAccepted {
		c.t.Fatalf("cancel: %s: %s", response.Status, content)
	}
	return c.ended(id)
}

// reach waits for a status.
func (c client) reach(id string, status domain.Status) {
	c.t.Helper()
	c.eventually("status "+string(status), func() bool { return c.get(id).Status == string(status) })
}

// asked waits until n approvals of an execution are pending.
func (c client) asked(id string, n int) []approval {
	c.t.Helper()
	var all []approval
	c.eventually(fmt.Sprintf("%d approvals", n), func() bool {
		all = want[list[approval]](c, http.StatusOK, "GET", "/executions/"+id+"/approvals", nil).Items
		pending := 0
		for _, a := range all {
			if a.Status == "pending" {
				pending++
			}
		}
		if pending < n {
			if e := c.get(id); domain.Status(e.Status).Terminal() {
				c.t.Fatalf("execution %s has ended as %s before it asked: %+v", id, e.Status, e.Output)
			}
		}
		return pending >= n
	})
	return all
}

// scenario is for what has many steps, where eventually is for one: a minute was over before a busy machine had done them all.
const scenario = 5 * time.Minute

func (c client) eventually(what string, holds func() bool) {
	c.t.Helper()
	c.patiently(3*time.Minute, what, holds) // it ends what hangs, and judges nobody's speed: a photo on four wires takes 40 s alone on a slow machine
}

func (c client) patiently(patience time.Duration, what string, holds func() bool) {
	c.t.Helper()
	pause := 5 * time.Millisecond
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			c.t.Fatalf("it does not come to %s", what)
		}
		pause = min(pause*3/2, 400*time.Millisecond) // a hundred wait at once, and each look costs the server what it could do in that time
	}
}

// decide answers an approval.
func (c client) decide(a approval, change ...object) approval {
	c.t.Helper()
	body := harness.With(object{"decision": "approve", "argumentsHash": a.ArgumentsHash}, change...)
	return want[approval](c, http.StatusOK, "POST", "/approvals/"+a.ID, body)
}

type wireEvent = harness.Event

// page reads the whole log as JSON pages.
func (c client) page(id string) []wireEvent {
	c.t.Helper()
	var all []wireEvent
	for after := int64(0); ; {
		page := want[list[wireEvent]](c, http.StatusOK, "GET", "/executions/"+id+"/events?limit=200&after="+strconv.FormatInt(after, 10), nil,
			headers{"Accept": "application/json"})
		if len(page.Items) == 0 {
			return all
		}
		all = append(all, page.Items...)
		after = all[len(all)-1].Seq
	}
}

// follow reads the stream from behind seq on and hands each event to take, until take says stop or the stream ends.
// It tells whether the server ended it with 204: there is nothing more.
func (c client) follow(ctx context.Context, id string, after int64, take func(wireEvent) (more bool)) (done bool, err error) {
	response, err := c.try(ctx, "GET", "/executions/"+id+"/events", nil, headers{
		"Last-Event-ID": strconv.FormatInt(after, 10), "Accept": "text/event-stream",
	})
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNoContent {
		return true, nil
	}
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(response.Body)
		return false, fmt.Errorf("stream: %s: %s", response.Status, content)
	}
	for event, err := range harness.Events(response.Body) {
		if err != nil {
			return false, err
		}
		if !take(event) {
			break
		}
	}
	return false, nil
}

// read follows an execution from the beginning to its end on one connection, reconnecting where it breaks.
func (c client) read(id string) []wireEvent {
	c.t.Helper()
	var all []wireEvent
	ctx, cancel := context.WithTimeout(context.Background(), scenario)
	defer cancel()
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Seq
		}
		done, err := c.follow(ctx, id, after, func(e wireEvent) bool { all = append(all, e); return true })
		must(c.t, err)
		if done {
			return all
		}
	}
}

func asDomain(t *testing.T, log []wireEvent) []domain.Event {
	t.Helper()
	whole, err := eventstest.Whole(harness.Domain(log))
	must(t, err)
	return whole
}

// of returns the data of all events of one type.
func of[P domain.Payload](t *testing.T, log []wireEvent) []P {
	t.Helper()
	var all []P
	for _, event := range asDomain(t, log) {
		payload, err := event.Payload()
		must(t, err)
		if p, ok := payload.(P); ok {
			all = append(all, p)
		}
	}
	return all
}

package http

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
)

// serve sends a request to the handler itself, without a connection, and holds the answer against the document.
func (h *testServer) serve(method, target string, body []byte, extra ...string) answer {
	h.Helper()
	r := httptest.NewRequest(method, "http://localhost/", bytes.NewReader(body))
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	r.Header.Set("Authorization", "Bearer "+h.token)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(extra); i += 2 {
		r.Header.Set(extra[i], extra[i+1])
	}
	recorder := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(recorder, r)
	content, err := io.ReadAll(recorder.Body)
	must(h, err)
	a := answer{h, recorder.Code, recorder.Header(), content}
	check(h, r, a)
	return a
}

// noFault is the rule of all fuzzing here: an input never causes a 5xx, and every answer fits the document (which
// serve has checked).
func noFault(t *testing.T, a answer) {
	t.Helper()
	if a.status >= 500 {
		t.Errorf("%d: %s", a.status, a.body)
	}
}

// fuzzed lends a server to the calls of a fuzz target, each with its own t.
func fuzzed(h *testServer, t *testing.T) *testServer {
	borrowed := *h
	borrowed.TB = t
	return &borrowed
}

func FuzzJSONBody(f *testing.F) {
	h := newTestServer(f, func(c *Config) { c.Sessions = idle{} })
	for _, row := range badCreates() {
		if len(row.body) < 500 {
			f.Add([]byte(row.body))
		}
	}
	f.Add([]byte("{" + valid + `,"metadata":{"a":"b"},"capabilities":{"read":"ask"},"maxIterations":3}`))
	f.Add([]byte(`{"source":{"type":"acp","command":"mock","args":["--acp"],"mode":"ask"},"prompt":"x","keepOpen":true,"mcpServers":["files"]}`))
	f.Add([]byte(everySetting))
	bodies(f, func(_, _ string, schema *openapi3.Schema) { f.Add([]byte(domain.Encode(sample(schema)))) })
	f.Add([]byte(`{"decision":"deny","remember":{"scope":"global","previewId":"command","expiresInSeconds":9}}`))
	f.Add([]byte(`{"scope":"global","effect":"allow","matcher":{"command":"git log *","host":"*.example"},"expiresAt":"2999-01-01T00:00:00.5+23:59"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		h := fuzzed(h, t)
		for _, route := range []string{
			"/executions", "/executions/" + someID + "/cancel", "/executions/" + someID + "/prompts",
			"/executions/" + someID + "/resume", "/approvals/" + someID, "/permission-rules", "/policy/evaluate",
		} {
			noFault(t, h.serve("POST", route, body))
		}
		noFault(t, h.serve("PUT", "/memory/runbook:a", body, "If-Match", `"0"`))
		noFault(t, h.serve("PUT", "/memory/global", []byte(`{"content":"x"}`), "If-Match", string(body)))
	})
}

// idle starts and stops nothing, so that fuzzing is about the input alone.
type idle struct{ Sessions }

func (idle) Start(_ context.Context, _ domain.TenantID, _ domain.Actor, order domain.Request, _ *store.Idempotency) (domain.Execution, bool, error) {
	order.ResumeFrom = "" // as the manager refuses what is not an execution's id
	return domain.Execution{
		ID: someID, Status: domain.StatusQueued, Created: time.Unix(1, 0), Updated: time.Unix(1, 0), Request: order,
	}, false, nil
}

func (idle) Prompt(_ context.Context, _ domain.TenantID, id domain.ExecutionID, prompt domain.QueuedPrompt, by domain.Actor, _ *store.Idempotency) (domain.QueuedPrompt, bool, error) {
	prompt.ID, prompt.Execution, prompt.By, prompt.Created = someID, id, by, time.Unix(1, 0)
	return prompt, false, nil
}

func (idle) Resume(_ context.Context, _ domain.TenantID, _ domain.ExecutionID, mode domain.ResumeMode, _ domain.Actor) (domain.Execution, error) {
	if mode == domain.ResumeLoad {
		return domain.Execution{}, domain.Errorf(domain.CodeNotResumable, "The agent cannot take its session up.")
	}
	return domain.Execution{}, domain.Errorf(domain.CodeNotInterrupted, "The execution is not interrupted.")
}

func (idle) Cancel(context.Context, domain.TenantID, domain.ExecutionID, string, domain.Actor) (domain.Execution, error) {
	return domain.Execution{}, domain.Errorf(domain.CodeNotFound, "There is no such execution.")
}

func FuzzSSEFrame(f *testing.F) {
	for _, seed := range []string{
		"hello", "a\nb", "a\r\nid: 99\n\nevent: execution.completed\ndata: {}\n\n", "\u2028\u2029\x00", "\xff\xfe", "data: x",
		strings.Repeat("x", 70_000), "", ": comment", `"}` + "\n\n",
	} {
		f.Add(seed, int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seq int64) {
		if seq < 1 {
			seq = 1
		}
		event := domain.NewEvent(someID, domain.MessageDelta{MessageID: text, Turn: 1, Text: text})
		event.Seq, event.Time = seq, time.Unix(1, 0)
		second := domain.NewEvent(someID, domain.TurnStarted{Turn: 2})
		second.Seq, second.Time = seq, time.Unix(1, 0)
		wire := append(append([]byte{}, events.NewFrame(event).SSE...), events.NewFrame(second).SSE...)

		parser := newParserSSE(bytes.NewReader(wire))
		first, err := parser.next()
		must(t, err)
		checkFrameLoosely(t, first, event)
		last, err := parser.next()
		must(t, err)
		checkFrameLoosely(t, last, second)
		if _, err := parser.next(); err != io.EOF { //nolint:errorlint // the parser returns it bare
			t.Errorf("more than two frames in %q", wire)
		}
		var got struct{ Data domain.MessageDelta }
		must(t, json.Unmarshal([]byte(first.data), &got))
		if utf8.ValidString(text) && got.Data.Text != text {
			t.Errorf("%q became %q", text, got.Data.Text)
		}
	})
}

func checkFrameLoosely(t *testing.T, f frame, event domain.Event) {
	t.Helper()
	if f.event != string(event.Type) || f.retry != "" || f.comment != "" {
		t.Errorf("%+v is not %s", f, event.Type)
	}
	var got struct{ Seq json.Number }
	must(t, json.Unmarshal([]byte(f.data), &got))
	if got.Seq.String() != f.id {
		t.Errorf("id %s carries seq %s", f.id, got.Seq)
	}
}

func FuzzCursor(f *testing.F) {
	h := newTestServer(f)
	h.rule(`{"scope":"global","effect":"allow","matcher":{"tool":"bash"}}`)
	for _, seed := range []string{
		"", "abc", "YXBwcm92YWxzOjE6YQ", base64.RawURLEncoding.EncodeToString([]byte("executions:1:a")),
		base64.RawURLEncoding.EncodeToString([]byte("executions:9223372036854775807:\x00")),
		base64.RawURLEncoding.EncodeToString([]byte("executions:-1:' or 1=1 --")), "\x00", "\xff", strings.Repeat("A", 600), "%zz", "a&limit=0", "a&%00=1", "a&\x00", "a&%ff=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		h := fuzzed(h, t)
		for _, list := range []string{"/executions", "/approvals", "/permission-rules"} {
			noFault(t, h.serve("GET", list+"?cursor="+url.QueryEscape(cursor), nil))
			noFault(t, h.serve("GET", list+"?cursor="+cursor, nil))
		}
		for _, filter := range []string{"after", "action", "executionId"} {
			noFault(t, h.serve("GET", "/audit?"+filter+"="+url.QueryEscape(cursor), nil))
		}
		for _, filter := range []string{"executionId", "scope", "ended"} {
			noFault(t, h.serve("GET", "/permission-rules?"+filter+"="+url.QueryEscape(cursor), nil))
		}
		for _, name := range []string{"/memory/", "/memory/runbook:", "/permission-rules/"} {
			noFault(t, h.serve("GET", name+cursor, nil, "Accept", cursor))
		}
	})
}

func FuzzLastEventID(f *testing.F) {
	h := newTestServer(f)
	id := h.create("say x")
	h.ended(id)
	for _, seed := range []string{"", "0", "1", "-1", "00000001", "999999999999999999", "9999999999999999999", "1e3", " 1", "1\x00", "١", "1,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		h := fuzzed(h, t)
		path := "/executions/" + id + "/events"
		a := h.serve("GET", path, nil, "Last-Event-ID", cursor)
		noFault(t, a)
		if a.status == http.StatusOK {
			checkStream(t, a.body)
		}
		noFault(t, h.serve("GET", path+"?after="+url.QueryEscape(cursor), nil))
		noFault(t, h.serve("GET", path+"?after="+url.QueryEscape(cursor), nil, "Accept", typeJSON))
		noFault(t, h.serve("GET", "/executions/"+id+"/debug?after="+url.QueryEscape(cursor), nil))
	})
}

func checkStream(t *testing.T, body []byte) {
	t.Helper()
	for parser := newParserSSE(bytes.NewReader(body)); ; {
		frame, err := parser.next()
		if err == io.EOF { //nolint:errorlint // the parser returns it bare
			return
		}
		must(t, err)
		if frame.data != "" {
			checkFrame(t, frame)
		}
	}
}

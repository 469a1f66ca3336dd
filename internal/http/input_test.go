package http

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/http/contract"
)

type badInput struct {
	name, body string
	status     int
	code       domain.Code
	pointer    string // of the first error; empty: none wanted
}

const valid = `"source":{"type":"internal"},"prompt":"say x"`

// badCreates are bodies of POST /executions that the document refuses.
func badCreates() []badInput {
	syntax := func(name, body string) badInput { return badInput{name, body, 400, domain.CodeMalformed, ""} }
	wrong := func(name, fields, pointer string) badInput {
		return badInput{name, "{" + fields + "}", 422, domain.CodeInvalid, pointer}
	}
	with := func(name, field, pointer string) badInput { return wrong(name, valid+","+field, pointer) }
	rows := []badInput{
		// Not readable.
		syntax("not JSON", `prompt`),
		syntax("half", `{"prompt":"x`),
		syntax("half an object", `{"prompt":"x"`),
		syntax("trailing comma", `{`+valid+`,}`),
		syntax("single quotes", `{'prompt':'x'}`),
		syntax("comment", `{`+valid+`} // why`),
		syntax("trailing data", `{`+valid+`} {}`),
		syntax("trailing letter", `{`+valid+`}x`),
		syntax("trailing bracket", `{`+valid+`}]`),
		syntax("two values", `{}{}`),
		syntax("blank", "  \r\n\t "),
		syntax("NaN", `{`+valid+`,"maxIterations":NaN}`),
		syntax("Infinity", `{`+valid+`,"maxIterations":Infinity}`),
		syntax("leading zero", `{`+valid+`,"maxIterations":01}`),
		syntax("plus", `{`+valid+`,"maxIterations":+1}`),
		syntax("hex", `{`+valid+`,"maxIterations":0x1}`),
		syntax("raw control character", "{\"source\":{\"type\":\"internal\"},\"prompt\":\"a\x01b\"}"),
		syntax("raw NUL", "{\"source\":{\"type\":\"internal\"},\"prompt\":\"a\x00b\"}"),
		syntax("raw line feed", "{\"prompt\":\"a\nb\"}"),
		syntax("invalid UTF-8", "{"+strings.Replace(valid, "say x", "a\xffb", 1)+"}"),
		syntax("cut UTF-8", "{"+strings.Replace(valid, "say x", "\xe2\x82", 1)+"}"),
		syntax("encoded surrogate", "{"+strings.Replace(valid, "say x", "\xed\xa0\x80", 1)+"}"),
		syntax("UTF-16", "\xff\xfe{\x00}\x00"),
		syntax("byte order mark", "\xef\xbb\xbf{"+valid+"}"),
		syntax("lone high surrogate", `{`+strings.Replace(valid, "say x", `a\ud800b`, 1)+`}`),
		syntax("lone low surrogate", `{`+strings.Replace(valid, "say x", `a\uDC00`, 1)+`}`),
		syntax("high and high", `{`+strings.Replace(valid, "say x", `\ud800\ud800`, 1)+`}`),
		syntax("high at the end", `{`+strings.Replace(valid, "say x", `\ud83d`, 1)+`}`),
		syntax("surrogate in a name", `{`+valid+`,"metadata":{"a\ud800":"b"}}`),
		syntax("broken escape", `{`+strings.Replace(valid, "say x", `\u12g4`, 1)+`}`),
		{"duplicate name", `{` + valid + `,"prompt":"y"}`, 400, domain.CodeMalformed, "/prompt"},
		{"duplicate by escape", `{` + valid + `,"pro\u006dpt":"y"}`, 400, domain.CodeMalformed, "/prompt"},
		{"duplicate below", `{` + valid + `,"metadata":{"a":"1","a":"1"}}`, 400, domain.CodeMalformed, "/metadata/a"},
		{"two outputsFrom", `{` + valid + `,"outputsFrom":{},"outputsFrom":{}}`, 400, domain.CodeMalformed, "/outputsFrom"},
		{"two outputs of one name", `{` + valid + `,"outputsFrom":{"a/b":"` + someID + `","c":"` + someID + `","a\u002fb":"` + someID + `"}}`, 422, domain.CodeInvalid, "/outputsFrom/a~1b"},
		{"two variables of one name", `{` + valid + `,"variables":{"a":1,"a":2}}`, 422, domain.CodeInvalid, "/variables/a"},
		{"two names in a variable", `{` + valid + `,"variables":{"doc":{"named":{"a":1,"a":2}}}}`, 422, domain.CodeInvalid, "/variables/doc/named/a"},
		syntax("65 levels", strings.Repeat("[", 65)+strings.Repeat("]", 65)),
		syntax("65 levels below a field", `{"metadata":`+strings.Repeat(`{"a":`, 64)+"1"+strings.Repeat("}", 64)+"}"),
		syntax("20,000 open brackets", strings.Repeat("[", 20000)),

		// Readable, and wrong. TestEveryRuleOfTheDocumentHoldsForBodies breaks the rules of the document.
		{"64 levels", strings.Repeat("[", 64) + strings.Repeat("]", 64), 422, domain.CodeInvalid, ""},
		{"1e400 alone", `1e400`, 422, domain.CodeInvalid, ""},
		wrong("empty object", ``, "/prompt"),
		wrong("prompt of another case", `"source":{"type":"internal"},"Prompt":"x"`, "/Prompt"),
		with("resumeFrom nothing", `"resumeFrom":"`+someID+`"`, "/resumeFrom"),
		with("NUL in a name", `"metadata":{"a\u0000":"b"}`, "/metadata"),
		with("unknown field with a slash", `"a/b~c":1`, "/a~1b~0c"),
		with("maxIterations 5.0", `"maxIterations":5.0`, "/maxIterations"),
		with("maxIterations 5e0", `"maxIterations":5e0`, "/maxIterations"),
	}
	return rows
}

func TestBadBodies(t *testing.T) {
	h := newTestServer(t)
	for _, row := range badCreates() {
		a := h.ask("POST", "/executions", row.body)
		h.wrong(row, a)
	}
	h.ask("POST", "/executions", "").problem(400, domain.CodeMalformed)
	h.ask("POST", "/executions", "{"+valid+"}").want(201)
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say \ud83d\ude00 \\ud800 \u00e9"}`).want(201)
}

// TestWhatAdmissionRefusesIsAProblem: each code of a registry has its status, and the pointer comes through. What is refused is proved in the
// package admission.
func TestWhatAdmissionRefusesIsAProblem(t *testing.T) {
	h := newTestServer(t)
	for _, row := range []badInput{
		{"a contradiction", `{"source":{"type":"internal","mode":"ask"},"prompt":"x"}`, 422, domain.CodeInvalid, "/source/mode"},
		{"an unknown agent", `{"source":{"type":"acp","command":"/bin/sh"},"prompt":"x"}`, 422, domain.CodeUnknownAgent, "/source/command"},
		{"an agent that is not installed", `{"source":{"type":"acp","command":"absent"},"prompt":"x"}`, 422, domain.CodeAgentUnavailable, "/source/command"},
		{"an unknown MCP server", `{"source":{"type":"acp","command":"mock"},"prompt":"x","mcpServers":["sh"]}`, 422, domain.CodeUnknownMCPServer, "/mcpServers/0"},
		{"an unknown model", `{"source":{"type":"internal","model":"gpt-9"},"prompt":"x"}`, 422, domain.CodeUnknownModel, "/source/model"},
		{"an unknown model of a block", aBlock(`"source":{"type":"internal","model":"gpt-9"},"prompt":"x"`), 422, domain.CodeUnknownModel, "/block/props/source/model"},
		{"an unknown secret", `{` + valid + `,"secrets":["gitlab"]}`, 422, domain.CodeUnknownSecret, "/secrets"},
		{"a secret in a rule", `{` + valid + `,"policy":{"rules":[{"effect":"deny","matcher":{"command":"echo ` + canary + `"}}]}}`, 422, domain.CodeInvalid, "/policy/rules/0/matcher"},
		{"a folder outside", `{` + valid + `,"workingDirectory":"../.."}`, 422, domain.CodeInvalid, "/workingDirectory"},
		{"no execution to go on from", `{` + valid + `,"contextFrom":["` + someID + `"]}`, 422, domain.CodeInvalid, "/contextFrom/0"},
	} {
		h.wrong(row, h.ask("POST", "/executions", row.body))
	}
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("something was created: %s", a.body)
	}
}

func (h *testServer) wrong(row badInput, a answer) {
	h.Helper()
	code, pointer := "", ""
	if a.status >= 400 {
		code = a.text("code")
		if a.get("errors") != nil {
			pointer = a.text("errors", "0", "pointer")
		}
	}
	if a.status != row.status || code != string(row.code) || pointer != row.pointer {
		h.Errorf("%s: %d %s %q, want %d %s %q: %.600s", row.name, a.status, code, pointer, row.status, row.code, row.pointer, a.body)
	}
	if len(row.body) > 2000 && len(a.body) > 2000 {
		h.Errorf("%s: the answer has %d bytes", row.name, len(a.body))
	}
}

func TestEveryWrongPartIsToldAtOnce(t *testing.T) {
	h := newTestServer(t)
	a := h.ask("POST", "/executions", `{"prompt":1,"maxIterations":0,"capabilities":{"read":"x"},"foo":1}`).problem(422, domain.CodeInvalid)
	var pointers []string
	for i := range a.count("errors") {
		pointers = append(pointers, a.text("errors", fmt.Sprint(i), "pointer"))
	}
	if got := strings.Join(pointers, " "); got != "/capabilities/read /foo /maxIterations /prompt" {
		t.Errorf("%s: %s", got, a.body)
	}
	var fields strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&fields, `,"field%d%s":1`, i, strings.Repeat("x", 100))
	}
	a = h.ask("POST", "/executions", "{"+valid+fields.String()+"}").problem(422, domain.CodeInvalid)
	if a.count("errors") != contract.MaxDetails {
		t.Errorf("%d errors", a.count("errors"))
	}
}

// TestWhatIsWrongIsSaid: a client reads the message where the pointer is not enough.
func TestWhatIsWrongIsSaid(t *testing.T) {
	h := newTestServer(t)
	for fields, want := range map[string]string{
		`"maxIterations":0`:                                   "must be between 1 and 500",
		`"budget":{"cost":0}`:                                 "must be more than 0",
		`"budget":{"tokens":0}`:                               "must be at least 1",
		`"budget":{"seconds":0}`:                              "must be between 1 and 31536000",
		`"capabilities":{"x":1}`:                              "is not a known field",
		`"policy":{"rules":[{"effect":"deny","matcher":{}}]}`: "must not be empty",
	} {
		if a := h.ask("POST", "/executions", "{"+valid+","+fields+"}").want(422); a.text("errors", "0", "message") != want {
			t.Errorf("%s: %s", fields, a.body)
		}
	}
	a := h.ask("POST", "/permission-rules", `{"scope":"global","effect":"allow","matcher":{"tool":"a"},"expiresAt":"2999-02-30T00:00:00Z"}`).want(422)
	if a.text("errors", "0", "message") != "must be a time as RFC 3339 writes it" {
		t.Errorf("%s", a.body)
	}
}

// TestProblemsHoldNoSecrets sends one wherever a message might repeat it, also where it would be cut in half.
func TestProblemsHoldNoSecrets(t *testing.T) {
	h := newTestServer(t)
	approval, _ := h.pending(h.create("ask df"))
	for _, row := range []struct{ method, path, body string }{
		{"POST", "/executions", `{` + valid + `,"` + canary + `":1}`},
		{"POST", "/executions", `{` + valid + `,"metadata":{"` + strings.Repeat("a", maxDetailLength-len("/metadata/"+canary)+2) + canary + `":"b"}}`},
		{"POST", "/executions", `{` + valid + `,"metadata":{"` + strings.Repeat("a b", 30) + canary + `":"b"}}`},
		{"POST", "/executions", `{"source":{"type":"internal","model":"` + canary + `"},"prompt":"x"}`},
		{"POST", "/executions", `{` + valid + `,"tools":{"bashPolicy":{"defaultBehavior":"deny","rules":[{"name":"a","pattern":"(` + canary + `","action":"deny"}]}}}`},
		{"POST", "/approvals/" + approval, `{"decision":"approve","remember":{"scope":"execution","previewId":"` + canary + `"}}`},
		{"GET", "/executions?" + canary + "=1", ""},
		{"GET", "/executions/" + canary, ""},
		{"GET", "/memory/" + canary, ""},
	} {
		a := h.ask(row.method, row.path, row.body)
		if a.status < 400 || strings.Contains(string(a.body), canary) || strings.Contains(string(a.body), canary[:len(canary)-3]) {
			t.Errorf("%s %s %s: %d %s", row.method, row.path, row.body, a.status, a.body)
		}
	}
	if logs := h.logs.String(); strings.Contains(logs, canary) {
		t.Errorf("%s", logs)
	}
}

// TestEqualBodiesAreOneRequestAlsoWithSecrets: what is masked counts as it was sent, or two requests with two secrets
// would be one.
func TestEqualBodiesAreOneRequestAlsoWithSecrets(t *testing.T) {
	h := newTestServer(t)
	body := `{"source":{"type":"internal"},"prompt":"say ` + canary + `"}`
	first := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	again := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	if first.text("prompt") != "say [masked]" || again.text("id") != first.text("id") {
		t.Errorf("%s\n%s", first.body, again.body)
	}
	masked := strings.ReplaceAll(body, canary, "[masked]")
	h.ask("POST", "/executions", masked, "Idempotency-Key", "k").problem(409, domain.CodeIdempotencyMismatch)
}

func TestBadDecisions(t *testing.T) {
	h := newTestServer(t)
	approval, _ := h.pending(h.create("ask df"))
	for _, row := range []badInput{
		{"no decision", `{}`, 422, domain.CodeInvalid, "/decision"},
		{"duplicate in arguments", `{"decision":"approve","arguments":{"command":"df","command":"rm"}}`, 400, domain.CodeMalformed, "/arguments/command"},
		{"NUL in arguments", `{"decision":"approve","arguments":{"command":"a\u0000"}}`, 422, domain.CodeInvalid, "/arguments/command"},
		{"1e400 in arguments", `{"decision":"approve","arguments":{"command":"df","n":1e400}}`, 422, domain.CodeInvalid, "/arguments"},
		{"remember nothing by an option", `{"decision":"approve","remember":{"scope":"once","previewId":"exact"}}`, 422, domain.CodeInvalid, "/remember/previewId"},
		{"remember nothing for a while", `{"decision":"approve","remember":{"scope":"once","expiresInSeconds":60}}`, 422, domain.CodeInvalid, "/remember/expiresInSeconds"},
		{"remember what was not offered", `{"decision":"approve","remember":{"scope":"execution","previewId":"mcpServer"}}`, 422, domain.CodeInvalid, "/remember/previewId"},
		{"remember other arguments by a wide option", `{"decision":"approve","arguments":{"command":"ls"},"remember":{"scope":"execution","previewId":"command"}}`, 422, domain.CodeInvalid, "/remember/previewId"},
		{"a secret in the arguments", `{"decision":"approve","arguments":{"command":"echo ` + canary + `"}}`, 422, domain.CodeInvalid, "/arguments"},
		{"an escaped secret in the arguments", `{"decision":"approve","arguments":{"command":"echo \u0063` + canary[1:] + `"}}`, 422, domain.CodeInvalid, "/arguments"},
		{"a secret in the answer", `{"decision":"approve","answer":{"a":["` + canary + `"]}}`, 422, domain.CodeInvalid, "/answer"},
		{"an option of a call of our own", `{"decision":"deny","optionId":"ok"}`, 422, domain.CodeInvalid, "/optionId"},
		{"an answer to a call of our own", `{"decision":"deny","answer":{}}`, 422, domain.CodeInvalid, "/answer"},
	} {
		h.wrong(row, h.ask("POST", "/approvals/"+approval, row.body))
	}
	if a := h.ask("GET", "/approvals/"+approval, "").want(200); a.text("status") != "pending" {
		t.Errorf("%s", a.body)
	}
}

func TestBadRequestsAroundTheBody(t *testing.T) {
	h := newTestServer(t)
	const body = "{" + valid + "}"
	ended := h.create("say x")
	last := h.ended(ended).get("lastSeq").(float64)
	events := "/executions/" + ended + "/events"
	for _, row := range []struct {
		name, method, path, body string
		status                   int
		code                     domain.Code
		pointer                  string
		headers                  []string
	}{
		{"no content type", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", ""}},
		{"form", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{"plain text", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "text/plain"}},
		{"almost JSON", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "application/jsonx"}},
		{"JSON patch", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "application/merge-patch+json"}},
		{"Latin-1", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "application/json; charset=latin1"}},
		{"two types", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "application/json, text/plain"}},
		{"gzip", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Encoding", "gzip"}},
		{"unknown encoding", "POST", "/executions", body, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Encoding", "zebra"}},
		{"plain prompt", "POST", "/executions/" + ended + "/prompts", `{"prompt":"x"}`, 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "text/plain"}},
		{"no prompt", "POST", "/executions/" + ended + "/prompts", ``, 400, domain.CodeMalformed, "", nil},
		{"body of close", "POST", "/executions/" + ended + "/close", `{}`, 400, domain.CodeMalformed, "", nil},
		{"prompt to an unknown execution", "POST", "/executions/" + someID + "/prompts", `{"prompt":"x"}`, 404, domain.CodeNotFound, "", nil},
		{"close of an unknown execution", "POST", "/executions/" + someID + "/close", "", 404, domain.CodeNotFound, "", nil},
		{"resume of an unknown execution", "POST", "/executions/" + someID + "/resume", `{"mode":"fail"}`, 404, domain.CodeNotFound, "", nil},
		{"plain cancel", "POST", "/executions/" + ended + "/cancel", "{}", 415, domain.CodeUnsupportedMedia, "", []string{"Content-Type", "text/plain"}},
		{"body over 1 MiB", "POST", "/executions", `{"prompt":"` + strings.Repeat("a", contract.MaxBody) + `"}`, 413, domain.CodePayloadTooLarge, "", nil},
		{"body of 5 MiB", "POST", "/executions", strings.Repeat("a", 5*contract.MaxBody), 413, domain.CodePayloadTooLarge, "", nil},
		{"body of a GET", "GET", "/executions", "{}", 400, domain.CodeMalformed, "", nil},
		{"body of a DELETE", "DELETE", "/executions/" + someID, "{}", 400, domain.CodeMalformed, "", nil},
		{"parameter of another case", "GET", "/executions?Limit=2", "", 422, domain.CodeInvalid, "Limit", nil},
		{"broken escape", "GET", "/executions?limit=%zz", "", 400, domain.CodeMalformed, "", nil},
		{"semicolon", "GET", "/executions?limit=1;cursor=x", "", 400, domain.CodeMalformed, "", nil},
		{"one known and one unknown status", "GET", "/executions?status=failed&status=done", "", 422, domain.CodeInvalid, "status", nil},
		{"invented cursor", "GET", "/executions?cursor=abc", "", 400, domain.CodeMalformed, "", nil},
		{"cursor of another list", "GET", "/executions?cursor=YXBwcm92YWxzOjE6YQ", "", 400, domain.CodeMalformed, "", nil},
		{"cursor with SQL", "GET", "/approvals?cursor=%27%20or%201%3D1", "", 400, domain.CodeMalformed, "", nil},
		{"Prefer wait=61", "POST", "/executions", body, 422, domain.CodeInvalid, "Prefer", []string{"Prefer", "wait=61"}},
		{"Prefer wait=soon", "POST", "/executions", body, 422, domain.CodeInvalid, "Prefer", []string{"Prefer", "wait=soon"}},
		{"id of another shape", "GET", "/executions/1", "", 404, domain.CodeNotFound, "", nil},
		{"id in upper case", "GET", "/executions/" + strings.ToUpper(ended), "", 404, domain.CodeNotFound, "", nil},
		{"id with SQL", "GET", "/executions/%27%20or%201%3D1%20--", "", 404, domain.CodeNotFound, "", nil},
		{"id with NUL", "GET", "/executions/%00", "", 404, domain.CodeNotFound, "", nil},
		{"id with dots", "GET", "/executions/..%2f..%2fetc", "", 404, domain.CodeNotFound, "", nil},
		{"overlong id", "GET", "/executions/" + strings.Repeat("a", 4000), "", 404, domain.CodeNotFound, "", nil},
		{"trailing slash", "GET", "/executions/", "", 404, domain.CodeNotFound, "", nil},
		{"double slash", "GET", "//executions", "", 404, domain.CodeNotFound, "", nil},
		{"unknown route", "GET", "/sessions", "", 404, domain.CodeNotFound, "", nil},
		{"unknown approval", "POST", "/approvals/" + someID, `{"decision":"deny"}`, 404, domain.CodeNotFound, "", nil},
		{"cancel of an unknown execution", "POST", "/executions/" + someID + "/cancel", "", 404, domain.CodeNotFound, "", nil},
		{"PUT", "PUT", "/executions", body, 405, domain.CodeMethodNotAllowed, "", nil},
		{"PATCH", "PATCH", "/executions/" + ended, "{}", 405, domain.CodeMethodNotAllowed, "", nil},
		{"OPTIONS", "OPTIONS", "/executions", "", 405, domain.CodeMethodNotAllowed, "", nil},
		{"invented method", "BREW", "/executions", "", 405, domain.CodeMethodNotAllowed, "", nil},
		{"URI over 8 KiB", "GET", "/executions?cursor=" + strings.Repeat("a", maxURI), "", 414, domain.CodeURITooLong, "", nil},
		{"headers over 32 KiB", "GET", "/executions", "", 431, codeHeadersTooLarge, "", []string{"X-Large", strings.Repeat("a", maxHeaders)}},
		{"stream with a limit", "GET", events + "?limit=5", "", 422, domain.CodeInvalid, "limit", nil},
		{"events as XML", "GET", events, "", 406, domain.CodeNotAcceptable, "", []string{"Accept", "application/xml"}},
		{"events refused", "GET", events, "", 406, domain.CodeNotAcceptable, "", []string{"Accept", "text/event-stream;q=0"}},
		{"cursor beyond the head", "GET", fmt.Sprintf("%s?after=%v", events, last+1), "", 409, domain.CodeCursorBeyondHead, "", nil},
		{"page beyond the head", "GET", fmt.Sprintf("%s?after=%v", events, last+1), "", 409, domain.CodeCursorBeyondHead, "", []string{"Accept", typeJSON}},
		{"Last-Event-ID beyond the head", "GET", events + "?after=1", "", 409, domain.CodeCursorBeyondHead, "", []string{"Last-Event-ID", "999999"}},
	} {
		a := h.ask(row.method, row.path, row.body, row.headers...)
		h.wrong(badInput{row.name, row.body, row.status, row.code, row.pointer}, a)
		if row.status == 405 && a.header.Get("Allow") == "" {
			t.Errorf("%s: no Allow", row.name)
		}
	}
	if allow := h.ask("PUT", "/executions", body).header.Get("Allow"); allow != "GET, HEAD, POST" {
		t.Errorf("Allow: %s", allow)
	}
	h.ask("POST", "/executions", body, "Content-Type", "Application/JSON; Charset=UTF-8", "Content-Encoding", "identity").want(201)
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"`+strings.Repeat("a", 999_000)+`"}`).want(201)
}

func TestAChunkedBodyIsBoundedToo(t *testing.T) {
	h := newTestServer(t)
	for _, row := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/executions", `{"prompt":"` + strings.Repeat("a", contract.MaxBody) + `"}`, 413},
		{"POST", "/executions", "{" + valid + "}", 201},
		{"POST", "/executions", "", 400},
		{"GET", "/executions", "x", 400},
		{"GET", "/executions", "", 200},
	} {
		r := h.request(row.method, row.path, "")
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(row.body)), -1
		response, err := client.Do(r)
		must(t, err)
		body, err := io.ReadAll(response.Body)
		must(t, err)
		response.Body.Close()
		check(h, r, answer{t, response.StatusCode, response.Header, body}.want(row.status))
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	h := newTestServer(t)
	connection := h.dial()
	fmt.Fprintf(connection, "POST /executions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"pro\r\nzz\r\n", h.token)
	answer, err := io.ReadAll(connection)
	must(t, err)
	if !bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")) || !bytes.Contains(answer, []byte(`"code":"malformed"`)) {
		t.Errorf("%s", answer)
	}
}

func TestPointersSurviveAnything(t *testing.T) {
	for path, want := range map[string]string{"a": "/a", "a/b": "/a~1b", "~": "/~0", "": "/"} {
		if got := domain.Pointer(path); got != want {
			t.Errorf("%q: %q", path, got)
		}
	}
	if got := shorten(strings.Repeat("é", 10), 5); got != "éé…" {
		t.Errorf("%q", got)
	}
}

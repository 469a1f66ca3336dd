package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signoff/internal/admission"
	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
	"signoff/internal/store"
)

func TestCreateFollowApproveFinish(t *testing.T) {
	h := newTestServer(t)
	created := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"ask df -h","metadata":{"ticket":"OPS-1"}}`).want(201)
	id := created.text("id")
	if created.header.Get("Location") != "/executions/"+id || created.text("source", "model") != "demo" ||
		created.text("metadata", "ticket") != "OPS-1" || created.text("workingDirectory") == "" ||
		created.get("maxIterations") != 50.0 || created.get("timeoutSeconds") != 300.0 || created.get("approvalTimeoutSeconds") != 3600.0 ||
		created.text("capabilities", "read") != "allow" || created.text("capabilities", "execute") != "ask" ||
		created.text("capabilities", "write") != "ask" || created.get("keepOpen") != false || created.get("debug") != false ||
		created.get("idleTimeoutSeconds") != 86400.0 || created.count("mcpServers") != 0 || created.get("resumeFrom") != nil ||
		created.get("agentSession") != nil {
		t.Errorf("created %s", created.body)
	}
	stream := h.follow(id)
	var approval, hash string
	for approval == "" {
		if frame := stream.next(); frame.event == "approval.requested" {
			approval, hash = h.pending(id)
		}
	}
	waiting := h.ask("GET", "/executions/"+id, "").want(200)
	if waiting.text("status") != "pendingToolApproval" || waiting.text("pendingApprovals", "0", "id") != approval {
		t.Errorf("waiting %s", waiting.body)
	}
	inbox := h.ask("GET", "/approvals", "").want(200)
	if inbox.count("items") != 1 || inbox.text("items", "0", "executionId") != id {
		t.Errorf("inbox %s", inbox.body)
	}
	shown := h.ask("GET", "/approvals/"+approval, "").want(200)
	if shown.text("argumentsHash") != hash || shown.text("arguments", "command") != "df -h" || shown.get("decision") != nil {
		t.Errorf("shown %s", shown.body)
	}
	decided := h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).want(200)
	if decided.text("status") != "approved" || decided.text("decision", "decidedBy", "name") != "ann" {
		t.Errorf("decided %s", decided.body)
	}
	rest := stream.all()
	if last := rest[len(rest)-1]; last.event != "execution.completed" {
		t.Errorf("the last frame is %s", last.raw)
	}
	ended := h.ended(id)
	if ended.text("status") != "completed" || ended.text("output", "text") != "done: df -h" || ended.get("output", "error") != nil {
		t.Errorf("ended %s", ended.body)
	}
	if own := h.ask("GET", "/executions/"+id+"/approvals", "").want(200); own.count("items") != 1 {
		t.Errorf("own approvals %s", own.body)
	}
	if inbox := h.ask("GET", "/approvals", "").want(200); inbox.count("items") != 0 {
		t.Errorf("the inbox still has %s", inbox.body)
	}
	if all := h.ask("GET", "/approvals?status=approved", "").want(200); all.count("items") != 1 {
		t.Errorf("approved %s", all.body)
	}
}

func TestPreferWaitAndLongPollStayForTheEnd(t *testing.T) {
	h := newTestServer(t)
	body := `{"source":{"type":"internal","model":"demo"},"messages":[{"role":"user","content":"say hello"}]}`
	a := h.ask("POST", "/executions", body, "Prefer", "respond-async, wait=30").want(201)
	if a.text("status") != "completed" || a.header.Get("Preference-Applied") != "wait=30" || a.text("output", "text") != "done: hello" {
		t.Errorf("%v %s", a.header, a.body)
	}
	began := time.Now()
	id := h.create("hang", "Prefer", "wait=1")
	if took := time.Since(began); took < time.Second || took > 5*time.Second {
		t.Errorf("wait=1 took %v", took)
	}
	cancelled := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() {
		defer close(cancelled)
		h.ask("POST", "/executions/"+id+"/cancel", "")
	})
	if a := h.ask("GET", "/executions/"+id+"?wait=30", "").want(200); a.text("status") != "cancelled" {
		t.Errorf("%s", a.body)
	}
	<-cancelled
}

func TestIdempotencyKeys(t *testing.T) {
	h := newTestServer(t)
	const body = `{"source":{"type":"internal"},"prompt":"say hello"}`
	ids := map[string]int{}
	var replays int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			a := h.ask("POST", "/executions", body, "Idempotency-Key", "once").want(201)
			mu.Lock()
			defer mu.Unlock()
			ids[a.text("id")]++
			if a.header.Get("Idempotency-Replayed") == "true" {
				replays++
			}
		})
	}
	all.Wait()
	if len(ids) != 1 || replays != 19 {
		t.Errorf("ids %v, %d replays", ids, replays)
	}
	h.ask("POST", "/executions", `{ "prompt" : "say hello", "source":{"type":"internal"} }`, "Idempotency-Key", "once").want(201)
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say bye"}`, "Idempotency-Key", "once").
		problem(409, domain.CodeIdempotencyMismatch)
	other := h.key("acme", "executions:write")
	if a := h.ask("POST", "/executions", body, "Idempotency-Key", "once", "Authorization", "Bearer "+other).want(201); ids[a.text("id")] > 0 {
		t.Error("another tenant was given our execution")
	}
}

func TestListsAreComplete(t *testing.T) {
	h := newTestServer(t)
	var want []string
	for i := range 5 {
		want = append([]string{h.create(fmt.Sprintf("say %d", i))}, want...)
	}
	for _, id := range want {
		h.ended(id)
	}
	var got []string
	for path, pages := "/executions?limit=2", 0; ; pages++ {
		page := h.ask("GET", path, "").want(200)
		for i := range page.count("items") {
			got = append(got, page.text("items", fmt.Sprint(i), "id"))
		}
		if page.get("nextCursor") == nil {
			break
		}
		path = "/executions?limit=2&cursor=" + page.text("nextCursor")
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v\nwant %v", got, want)
	}
	hanging := h.create("hang")
	eventually(t, "it waits", func() bool {
		return h.ask("GET", "/executions?status=waiting&status=streaming", "").want(200).count("items") == 1
	})
	if a := h.ask("GET", "/executions?status=failed", "").want(200); a.count("items") != 0 {
		t.Errorf("failed: %s", a.body)
	}
	if a := h.ask("GET", "/executions?status=completed&status=waiting", "").want(200); a.count("items") != 6 {
		t.Errorf("%d items", a.count("items"))
	}
	h.ask("POST", "/executions/"+hanging+"/cancel", "", "Prefer", "wait=30").want(200)
}

func TestCancel(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	a := h.ask("POST", "/executions/"+id+"/cancel", `{"reason":"wrong ticket"}`, "Prefer", "wait=30").want(200)
	if a.text("status") != "cancelled" || a.text("output", "finishReason") != "cancelled" {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
	h.ask("POST", "/executions/"+id+"/cancel", "{}", "Prefer", "wait=30").want(200)
	frames := h.follow(id).all()
	if last := frames[len(frames)-1]; !strings.Contains(last.data, "wrong ticket") {
		t.Errorf("the last frame is %s", last.raw)
	}
	done := h.create("say hello")
	h.ended(done)
	a = h.ask("POST", "/executions/"+done+"/cancel", "").problem(409, domain.CodeExecutionEnded)
	if a.text("execution", "status") != "completed" || a.text("execution", "id") != done {
		t.Errorf("%s", a.body)
	}
}

// An end that was asked for is answered at once with the execution as it is; with a preference the answer waits for it.
func TestEndsAreWaitedForOnlyWhereThatIsPreferred(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask inner")
	h.pending(id)
	for range 2 {
		a := h.ask("POST", "/executions/"+id+"/close", "").want(202)
		if a.text("status") != "pendingToolApproval" || a.header.Get("Preference-Applied") != "" {
			t.Errorf("%v %s", a.header, a.body)
		}
	}
	a := h.ask("POST", "/executions/"+id+"/close", "", "Prefer", "respond-async, wait=1").want(202)
	if a.text("status") != "pendingToolApproval" || a.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("%v %s", a.header, a.body)
	}
	a = h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=60").want(200)
	if a.text("status") != "cancelled" || a.header.Get("Preference-Applied") != "wait=60" {
		t.Errorf("%v %s", a.header, a.body)
	}
	h.ask("POST", "/executions/"+id+"/cancel", "").want(200)
	for _, wrong := range []string{"wait=61", "wait=-1", "wait=soon", "wait"} {
		h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", wrong).problem(422, domain.CodeInvalid)
		h.ask("POST", "/executions/"+id+"/close", "", "Prefer", wrong).problem(422, domain.CodeInvalid)
	}
}

// Who waits for an end is told when it became another one.
func TestWaitingForAnEndThatBecomesAnother(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask inner")
	h.pending(id)
	told := make(chan answer)
	go func() { told <- h.ask("POST", "/executions/"+id+"/close", "", "Prefer", "wait=60") }()
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=60").want(200)
	if a := (<-told).problem(409, domain.CodeExecutionEnded); a.text("execution", "status") != "cancelled" {
		t.Errorf("%s", a.body)
	}
}

// failing fails to cancel, or panics.
type failing struct {
	Sessions
	err error
}

func (s *failing) Cancel(context.Context, domain.TenantID, domain.ExecutionID, string, domain.Actor) (domain.Execution, error) {
	if s.err == errPanic { //nolint:errorlint // a value of this test
		panic("secret-value-in-panic")
	}
	return domain.Execution{}, s.err
}

var errPanic = errors.New("panic")

const someID = "0197c4d2-7f00-7a31-9d2c-3b6f0e5a1c11"

func TestWhatBreaksInsideIsNotTold(t *testing.T) {
	s := &failing{}
	h := newTestServer(t, func(c *Config) { s.Sessions, c.Sessions = c.Sessions, s })
	for _, row := range []struct {
		err    error
		status int
		code   domain.Code
	}{
		{errPanic, 500, domain.CodeInternal},
		{errors.New("postgres://user:secret-value@db"), 500, domain.CodeInternal},
		{domain.Errorf(domain.CodeStorage, "The database did not do its work.").With(errors.New("secret-value")), 503, domain.CodeStorage},
		{domain.Errorf(domain.CodeUnavailable, "Shutting down."), 503, domain.CodeUnavailable},
		{domain.Errorf(domain.CodeStale, "Moved on."), 409, domain.CodeStale},
		{domain.Errorf(domain.CodeLimitReached, "secret-value of an unlisted code"), 500, domain.CodeInternal},
		{context.DeadlineExceeded, 500, domain.CodeInternal},
	} {
		s.err = row.err
		a := h.ask("POST", "/executions/"+someID+"/cancel", "").problem(row.status, row.code)
		if bytes.Contains(a.body, []byte("secret-value")) {
			t.Errorf("%v: %s", row.err, a.body)
		}
		if row.status >= 500 && !strings.Contains(h.logs.String(), a.text("requestId")) {
			t.Errorf("%v: the log does not have the request", row.err)
		}
	}
	if logs := h.logs.String(); !strings.Contains(logs, "secret-value-in-panic") {
		t.Error("the log lacks the panic")
	}
}

func TestDeleteTakesEverythingAlong(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	stream := h.follow(id)
	h.ask("DELETE", "/executions/"+id, "", "Authorization", "Bearer "+h.key("other", everyScope()...)).problem(404, domain.CodeNotFound)
	if a := h.ask("DELETE", "/executions/"+id, "").want(202); a.text("id") != id || a.header.Get("Preference-Applied") != "" {
		t.Errorf("%s", a.body)
	}
	frames := stream.all()
	if last := frames[len(frames)-1]; last.event != "execution.cancelled" && last.comment == "" {
		t.Errorf("the stream ends with %q", last.raw)
	}
	for _, path := range []string{"/executions/" + id, "/executions/" + id + "/events", "/executions/" + id + "/approvals", "/approvals/" + approval} {
		h.ask("GET", path, "").problem(404, domain.CodeNotFound)
	}
	for _, path := range []string{"/executions", "/approvals", "/approvals?status=pending"} {
		if a := h.ask("GET", path, "").want(200); a.count("items") != 0 {
			t.Errorf("%s", a.body)
		}
	}
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).problem(404, domain.CodeNotFound)
	h.ask("POST", "/executions/"+id+"/prompts", `{"prompt":"x"}`).problem(404, domain.CodeNotFound)
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say x","contextFrom":["`+id+`"]}`).problem(422, domain.CodeInvalid)
}

// TestDeleteWaitsWhereItIsAskedTo: 204 says that nothing is left, 202 that it goes on; until it is over, to delete again says the same.
func TestDeleteWaitsWhereItIsAskedTo(t *testing.T) {
	busy := &busySessions{}
	h := newTestServer(t, func(c *Config) { busy.Sessions, c.Sessions = c.Sessions, busy })
	id := h.create("ask df")
	h.pending(id)
	path := "/executions/" + id
	h.ask("DELETE", path, "", "Prefer", "wait=61").problem(422, domain.CodeInvalid)
	h.ask("GET", path, "").want(200)
	busy.held.Store(true)
	for range 2 {
		if a := h.ask("DELETE", path, "", "Prefer", "wait=1").want(202); a.header.Get("Preference-Applied") != "wait=1" {
			t.Errorf("%v", a.header)
		}
	}
	busy.held.Store(false)
	if a := h.ask("DELETE", path, "", "Prefer", "wait=60").want(204); a.header.Get("Preference-Applied") != "wait=60" {
		t.Errorf("%v", a.header)
	}
	h.ask("DELETE", path, "", "Prefer", "wait=60").problem(404, domain.CodeNotFound)
}

// busySessions does not get round to deleting anything while it is held.
type busySessions struct {
	Sessions
	held atomic.Bool
}

func (s *busySessions) Delete(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, by domain.Actor) error {
	if s.held.Load() {
		return nil
	}
	return s.Sessions.Delete(ctx, tenant, id, by)
}

func (s *busySessions) AwaitRemoval(ctx context.Context, id domain.ExecutionID, wait time.Duration) (bool, error) {
	if s.held.Load() {
		return false, nil
	}
	return s.Sessions.AwaitRemoval(ctx, id, wait)
}

func TestWorkingDirectory(t *testing.T) {
	h := newTestServer(t)
	must(t, os.Mkdir(filepath.Join(h.root, "runbooks"), 0o755))
	must(t, os.Symlink("/etc", filepath.Join(h.root, "escape")))
	a := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say x","workingDirectory":"runbooks"}`).want(201)
	if !strings.HasSuffix(a.text("workingDirectory"), "/runbooks") {
		t.Errorf("%s", a.body)
	}
	for _, folder := range []string{"..", "/etc", "escape", "runbooks/../..", "missing", "runbooks\\u000a"} {
		a := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"say x","workingDirectory":"`+folder+`"}`).
			problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != "/workingDirectory" {
			t.Errorf("%s: %s", folder, a.body)
		}
	}
}

func TestNothingIsHalfCreated(t *testing.T) {
	h := newTestServer(t)
	for _, row := range badCreates() {
		h.ask("POST", "/executions", row.body)
	}
	if a := h.ask("GET", "/executions", "").want(200); a.count("items") != 0 {
		t.Errorf("%s", a.body)
	}
}

func TestRegistriesAndOperations(t *testing.T) {
	h := newTestServer(t)
	if a := h.ask("GET", "/agents", "").want(200); a.text("items", "0", "name") != "internal" || a.get("items", "0", "available") != true {
		t.Errorf("%s", a.body)
	}
	agents := h.ask("GET", "/agents", "").want(200)
	if agents.count("items") != 3 || agents.text("items", "0", "version") != "test" || agents.text("items", "1", "type") != "acp" ||
		agents.text("items", "1", "name") != "mock" || agents.text("items", "1", "version") != "1.2.3" || agents.text("items", "1", "mode") != "ask" ||
		agents.get("items", "1", "reason") != nil || agents.get("items", "2", "available") != false || agents.text("items", "2", "reason") == "" {
		t.Errorf("%s", agents.body)
	}
	h.ask("GET", "/agents/nobody", "").problem(404, domain.CodeNotFound)
	if a := h.ask("GET", "/agents/internal", "").want(200); a.text("version") != "test" || strings.Contains(string(a.body), "offers") {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("GET", "/agents/mock", "").want(200); a.text("name") != "mock" || a.text("offers", "at") != "2026-01-02T03:04:05.000000Z" ||
		a.text("offers", "version") != "7" || a.text("offers", "mediaTypes", "0") != domain.MediaPNG || a.text("offers", "options", "0", "choices", "1", "name") != "[masked]" || strings.Contains(string(a.body), "prob") {
		t.Errorf("%s", a.body)
	}
	reader := h.key("default", "agents:read") // who may not start an agent does not have it started
	if a := h.ask("GET", "/agents/mock", "", "Authorization", "Bearer "+reader).want(200); strings.Contains(string(a.body), "offers") || a.get("probing") != true ||
		a.text("probeFailure", "code") != "agentExited" || a.text("probeFailure", "message") != "It wrote: [masked]" {
		t.Errorf("%s", a.body)
	}
	h.ask("GET", "/agents/mock", "", "Authorization", "Bearer "+h.key("default", "executions:write")).problem(403, domain.CodeForbidden)
	if a := h.ask("GET", "/models", "").want(200); a.text("items", "0", "name") != "demo" || a.get("items", "0", "contextWindow") != 4096.0 {
		t.Errorf("%s", a.body)
	}
	tools := h.ask("GET", "/tools", "").want(200)
	if tools.count("items") != 2 || tools.text("items", "0", "name") != "bash" || tools.text("items", "0", "class") != "execute" ||
		tools.text("items", "0", "schema", "required", "0") != "command" || tools.text("items", "1", "class") != "none" ||
		tools.text("items", "1", "version") != "2" || tools.get("nextCursor") != nil {
		t.Errorf("%s", tools.body)
	}
	if a := h.ask("GET", "/", "", "Authorization", "").want(200); a.text("service") != "signoff" || a.text("version") != "test" {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("GET", "/openapi.yaml", "", "Authorization", "").want(200); !bytes.HasPrefix(a.body, []byte("# The contract")) {
		t.Errorf("%.40s", a.body)
	}
	h.ask("GET", "/healthz", "", "Authorization", "").want(200)
	h.ask("GET", "/readyz", "", "Authorization", "").want(200)
	h.ask("GET", "/nowhere", "")
	a := h.ask("GET", "/metrics", "", "Accept-Encoding", "gzip", "Accept", "application/openmetrics-text").want(200)
	for _, line := range []string{
		`signoff_http_requests_total{method="GET",route="/agents",status="200"} 2`,
		`signoff_http_requests_total{method="GET",route="none",status="404"} 1`,
		"signoff_http_streams 0", "go_goroutines", "process_open_fds",
	} {
		if !strings.Contains(string(a.body), line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

func TestAnEmptyRegistryAndADeadDatabase(t *testing.T) {
	h := newTestServerWith(t, func(c *admission.Config) { c.Models = admissiontest.Models{} },
		func(c *Config) { c.Models, c.Reader = modelRegistry{}, dead{c.Reader} })
	if a := h.ask("GET", "/agents", "").want(200); a.get("items", "0", "available") != false || a.get("items", "0", "defaultModel") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"x"}`).problem(422, domain.CodeUnknownModel)
	h.ask("GET", "/readyz", "").problem(503, domain.CodeStorage)
	h.ask("GET", "/healthz", "").want(200)
	h.ask("GET", "/executions", "").problem(503, domain.CodeStorage)
}

type dead struct{ Reader }

func (dead) Ping(context.Context) error { return errors.New("no route to host") }

func (dead) Executions(context.Context, domain.TenantID, store.ExecutionFilter) (store.Page[domain.Execution], error) {
	return store.Page[domain.Execution]{}, domain.Errorf(domain.CodeStorage, "The database did not do its work.")
}

func TestTheAccessLogHasNoSecretsAndNoBodies(t *testing.T) {
	h := newTestServer(t)
	id := h.create("say hush-hush")
	h.ended(id)
	logs := h.logs.String()
	for _, secret := range []string{h.token, strings.Split(h.token, "_")[2], "hush-hush", id} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	for _, wanted := range []string{`"route":"/executions/{id}"`, `"status":201`, `"keyId":"` + strings.Split(h.token, "_")[1] + `"`, `"requestId":"`} {
		if !strings.Contains(logs, wanted) {
			t.Errorf("the log lacks %s:\n%s", wanted, logs)
		}
	}
}

func TestAClientThatGoesAwayCancelsNothing(t *testing.T) {
	h := newTestServer(t)
	id := h.create("hang")
	stream := h.follow(id)
	stream.next()
	stream.close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := client.Do(h.request("GET", "/executions/"+id+"?wait=30", "").WithContext(ctx)); err == nil {
		t.Error("the long poll came back")
	}
	eventually(t, "the server notices", func() bool { return strings.Count(h.logs.String(), `"status":499`) == 2 })
	if a := h.ask("GET", "/executions/"+id, "").want(200); a.get("endedAt") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("POST", "/executions/"+id+"/cancel", "", "Prefer", "wait=30").want(200)
}

func TestAListShortensWhatWasAnswered(t *testing.T) {
	h := newTestServer(t)
	id := h.create("say " + strings.Repeat("a", domain.EndedTextBytes+1))
	whole := h.ended(id)
	if len(whole.text("output", "text")) <= domain.EndedTextBytes || whole.get("output", "truncated") != false {
		t.Errorf("the execution itself has %d bytes", len(whole.text("output", "text")))
	}
	list := h.ask("GET", "/executions", "").want(200)
	if len(list.text("items", "0", "output", "text")) != domain.EndedTextBytes || list.get("items", "0", "output", "truncated") != true {
		t.Errorf("the list has %d bytes", len(list.text("items", "0", "output", "text")))
	}
}

// TestASecretIsNoIdempotencyKey: a key counts letter by letter, so it would be kept unmasked.
func TestASecretIsNoIdempotencyKey(t *testing.T) {
	h := newTestServer(t)
	id := h.open("say one")
	for path, body := range map[string]string{
		"/executions": `{` + valid + `}`, "/executions/" + id + "/prompts": `{"prompt":"x"}`,
		"/executions/" + id + "/generation/edits": `{"text":"x"}`,
	} {
		a := h.ask("POST", path, body, "Idempotency-Key", "k-"+canary).problem(422, domain.CodeInvalid)
		if a.text("errors", "0", "pointer") != "Idempotency-Key" || strings.Contains(string(a.body), canary) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if all := h.ask("GET", "/executions", "").want(200); all.count("items") != 1 {
		t.Errorf("%s", all.body)
	}
}

func TestDurationsAreRounded(t *testing.T) {
	for seconds, want := range map[float64]string{9.556000000000001: "9.556", 0: "0", 0.0004: "0", 0.1 + 0.2: "0.3", 86400.0005: "86400.001"} {
		out := string(domain.Encode(toOutput(&domain.Output{DurationSeconds: seconds})))
		if !strings.Contains(out, `"durationSeconds":`+want+",") {
			t.Errorf("%v: %s", seconds, out)
		}
	}
}

// silent is a server that says nothing before its client has gone, and whose disk is full.
type silent struct {
	Sessions
	heard chan struct{}
}

func (silent) Writable() bool { return false }

func (s silent) Cancel(ctx context.Context, _ domain.TenantID, _ domain.ExecutionID, _ string, _ domain.Actor) (domain.Execution, error) {
	close(s.heard)
	<-ctx.Done()
	return domain.Execution{}, ctx.Err()
}

func TestAFullDiskIsNotReady(t *testing.T) {
	h := newTestServer(t, func(c *Config) { c.Sessions = silent{Sessions: c.Sessions} })
	h.ask("GET", "/readyz", "").problem(503, domain.CodeStorage)
	h.ask("GET", "/healthz", "").want(200)
}

// A client that is done with sending still reads. An answer that nobody has written must not look like a 200 to it.
func TestWhoOnlyStopsSendingGetsNoEmptyAnswer(t *testing.T) {
	s := silent{heard: make(chan struct{})}
	h := newTestServer(t, func(c *Config) { s.Sessions, c.Sessions = c.Sessions, s })
	host := strings.TrimPrefix(h.url, "http://")
	conn, err := net.Dial("tcp", host)
	must(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /executions/%s/cancel HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n", someID, host, h.token)
	must(t, err)
	<-s.heard
	must(t, conn.(*net.TCPConn).CloseWrite())
	if answer, _ := io.ReadAll(conn); len(answer) > 0 {
		t.Errorf("it was told %q", answer)
	}
}

package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// target is where webhooks lead: an address at which nobody answers until open is called. It is held from the beginning: a port that was
// let go meanwhile belonged to another test when it was wanted.
type target struct {
	t       *testing.T
	address string
	secret  string
	opened  atomic.Bool

	mu  sync.Mutex
	got []told
}

// told is a request as the target has got it, with a signature that was verified.
type told struct {
	id   string
	Type string `json:"type"`
	Data struct {
		ExecutionID string `json:"executionId"`
		ApprovalID  string `json:"approvalId"`
		Status      string `json:"status"`
		Link        string `json:"link"`
	} `json:"data"`
}

func newTarget(t *testing.T) *target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := &target{t: t, address: listener.Addr().String()}
	server := &http.Server{Handler: g, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return g
}

func (g *target) open() { g.opened.Store(true) }

func (g *target) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if !g.opened.Load() {
		panic(http.ErrAbortHandler) // hangs up
	}
	body, err := io.ReadAll(r.Body)
	// The lines of docs/webhooks.md, in Go.
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(g.secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
	signed := r.Header.Get("webhook-signature") == "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))
	message := told{id: r.Header.Get("webhook-id")}
	if err != nil || !signed || json.Unmarshal(body, &message) != nil {
		g.t.Errorf("%v: %v %s", err, r.Header, body)
	}
	_, _ = look("what a webhook is told").Write(body)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, message)
}

// of are the messages of one type about one execution, or about all.
func (g *target) of(kind, execution string) (all []told) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.got {
		if m.Type == kind && (execution == "" || m.Data.ExecutionID == execution) {
			all = append(all, m)
		}
	}
	return all
}

type createdWebhook struct {
	Webhook struct{ ID string }
	Secret  string
}

type delivery struct {
	ID, State string
	Attempts  []struct{ Error string }
}

// hooked is a server that may tell the target, and does.
func (g *target) hooked(s *server, more object) string {
	g.t.Helper()
	body := object{"url": "http://" + g.address + "/in"}
	for name, value := range more {
		body[name] = value
	}
	created := want[createdWebhook](s.client, http.StatusCreated, "POST", "/webhooks", body)
	g.secret = created.Secret
	return created.Webhook.ID
}

const publicURL = "https://signoff.example"

// A server that is killed between the commit and the delivery tells it all the same, and the link in it decides, once.
func TestWebhookSurvivesAKill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		g := newTarget(t)
		s := newServer(t, e, newModel(t, once("echo ran >> ledger.txt; cat ledger.txt")))
		s.section("webhooks", object{"allowHosts": []string{g.address}, "publicUrl": publicURL})
		s.start()
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/webhooks", object{"url": "http://127.0.0.1:1/"})
		hook := g.hooked(s, object{"links": true, "description": "the phone"})

		id := s.create().ID
		a := s.asked(id, 1)[0]
		s.kill()
		g.open()
		s.start()
		s.patiently(scenario, "a message about the approval", func() bool { return len(g.of("approval.requested", id)) > 0 })
		message := g.of("approval.requested", id)[0]
		path, isOurs := strings.CutPrefix(message.Data.Link, publicURL)
		if !isOurs || message.Data.ApprovalID != a.ID {
			t.Fatalf("%+v", message)
		}

		page, shown := s.do("GET", path, nil, headers{"Authorization": "", "Sec-Fetch-Site": "cross-site"})
		if page.StatusCode != http.StatusOK || strings.Contains(string(shown), "ledger.txt") {
			t.Fatalf("%s: %s", page.Status, shown)
		}
		browser := headers{"Authorization": "", "Content-Type": "application/x-www-form-urlencoded", "Origin": "null"}
		card, shown := s.do("POST", path, "decision=show", browser)
		if card.StatusCode != http.StatusOK || !strings.Contains(string(shown), "ledger.txt") || s.get(id).Status != "pendingToolApproval" {
			t.Fatalf("%s: %s", card.Status, shown)
		}
		form := url.Values{"decision": {"approve"}, "argumentsHash": {a.ArgumentsHash}, "reason": {""}}.Encode()
		for i, status := range []int{http.StatusOK, http.StatusConflict} {
			if response, content := s.do("POST", path, form, browser); response.StatusCode != status || !strings.Contains(string(content), "link for the phone") {
				t.Errorf("POST %d: %s: %s", i+1, response.Status, content)
			}
		}
		if end := s.ended(id); end.Status != "completed" {
			t.Errorf("%+v", end)
		}
		s.sound(id)
		s.ledger("ran\n")
		s.eventually("the end being told", func() bool {
			return len(g.of("approval.resolved", id)) == 1 && len(g.of("execution.completed", id)) == 1
		})

		want[delivery](s.client, http.StatusAccepted, "POST", "/webhooks/"+hook+"/deliveries/"+message.id+"/redeliver", nil)
		s.eventually("a redelivery", func() bool {
			again := g.of("approval.requested", id)
			return len(again) > 1 && again[len(again)-1].id == message.id
		})
	})
}

// A name that turns out to be this machine when it is dialled is not connected to.
func TestWebhookToAPrivateAddress(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	g.open()
	s := up(t, engine{}, newModel(t, finally("x")))
	_, port, err := net.SplitHostPort(g.address)
	must(t, err)
	created := want[createdWebhook](s.client, http.StatusCreated, "POST", "/webhooks", object{"url": "https://localhost:" + port + "/"})
	want[delivery](s.client, http.StatusAccepted, "POST", "/webhooks/"+created.Webhook.ID+"/test", nil)
	s.eventually("a refusal", func() bool {
		all := want[list[delivery]](s.client, http.StatusOK, "GET", "/webhooks/"+created.Webhook.ID+"/deliveries", nil).Items
		return len(all) == 1 && len(all[0].Attempts) > 0 && strings.Contains(all[0].Attempts[0].Error, "this machine itself")
	})
}

// Two replicas share the work: each message is sent by one of them.
func TestWebhooksOfTwoReplicas(t *testing.T) {
	t.Parallel()
	e := engine{url: postgres(t)}
	g := newTarget(t)
	g.open()
	m := newModel(t, finally("done"))
	first := newServer(t, e, m)
	second := newServer(t, e, m, "SIGNOFF_WORKSPACE_ROOT="+first.workspace)
	for _, s := range []*server{first, second} {
		s.section("webhooks", object{"allowHosts": []string{g.address}})
		s.Token = first.Token
		s.start()
		second.Token = first.Token
	}
	g.hooked(second, object{"types": []string{"execution.completed"}})
	const each = 10
	for range each {
		first.create()
		second.create()
	}
	first.eventually("all being told", func() bool { return len(g.of("execution.completed", "")) >= 2*each })
	seen := map[string]bool{}
	for _, m := range g.of("execution.completed", "") {
		if seen[m.id] {
			t.Errorf("%s came twice", m.id)
		}
		seen[m.id] = true
	}
	if len(seen) != 2*each {
		t.Errorf("%d messages of %d executions", len(seen), 2*each)
	}
}

package webhooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
	"signoff/internal/webhooks"
)

const tenant = domain.DefaultTenant

var ann = domain.Actor{KeyID: "k", Name: "ann"}

// scene is a dispatcher over a database, whose requests reach functions instead of the network. It lives in a bubble.
type scene struct {
	*testing.T
	store   *store.Store
	service *webhooks.Service
	links   *webhooks.Links
	notify  func()
	end     func()

	mu      sync.Mutex
	answer  map[string]func(*http.Request) (*http.Response, error) // by host
	arrived []arrival
}

// arrival is a request as the target sees it.
type arrival struct {
	host, id, at, signature string
	body                    []byte
	time                    time.Time
}

func (s *scene) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.arrived = append(s.arrived, arrival{r.URL.Host, r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"),
		r.Header.Get("webhook-signature"), body, time.Now()})
	answer := s.answer[r.URL.Host]
	s.mu.Unlock()
	if answer == nil {
		return said(204)(r)
	}
	return answer(r)
}

// answers says how a host answers from now on; nil: it accepts all.
func (s *scene) answers(host string, how func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer[host] = how
}

func (s *scene) at(host string) (all []arrival) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.arrived {
		if a.host == host {
			all = append(all, a)
		}
	}
	return all
}

func said(status int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("secret answer")), Request: r}, nil
	}
}

// hangs answers when the request is given up, as a target does that never answers.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// play runs a test in a bubble of its own time.
func play(t *testing.T, test func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, store: storetest.SQLite(t), links: webhooks.NewLinks([]byte("key"), "https://signoff.example/"),
			answer: map[string]func(*http.Request) (*http.Response, error){}}
		s.start()
		defer func() { s.end() }()
		test(s)
	})
}

// start begins a dispatcher, in place of the one before.
func (s *scene) start() {
	dispatcher := webhooks.NewDispatcher(s.store, webhooks.Config{Links: s.links, Transport: s, Version: "test"})
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	running.Go(func() { dispatcher.Run(ctx) })
	s.notify = dispatcher.Notify
	s.end = func() { cancel(); running.Wait() }
	s.service = webhooks.NewService(s.store, webhooks.Targets{}, s.links, s.notify)
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) hook(host string, change ...func(*webhooks.CreateParams)) store.Webhook {
	s.Helper()
	order := webhooks.CreateParams{Tenant: tenant, URL: "https://" + host + "/in?key=secret", By: ann, Channel: "api"}
	for _, c := range change {
		c(&order)
	}
	hook, err := s.service.Create(s.Context(), order)
	s.must(err)
	return hook
}

// happens writes n deliveries to a webhook.
func (s *scene) happens(hook store.Webhook, n int) {
	s.Helper()
	for i := range n {
		s.must(s.store.AddDelivery(s.Context(), store.Delivery{Webhook: hook.ID, ID: fmt.Sprintf("msg_%d", i), Tenant: hook.Tenant,
			Type: "execution.completed", Body: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}))
	}
	s.notify()
}

func (s *scene) deliveries(hook store.Webhook) []store.Delivery {
	s.Helper()
	page, err := s.store.Deliveries(s.Context(), tenant, hook.ID, "", "", 0)
	s.must(err)
	return page.Items
}

// sleep lets d of the bubble's time go by, and then what is under way come to rest.
func sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

// verified reports whether one of the signatures is that of a secret, as a receiver finds out.
func verified(a arrival, secret string) bool {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", a.id, a.at, a.body)
	return strings.Contains(" "+a.signature+" ", " v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+" ")
}

func TestDelivers(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example")
		s.happens(hook, 1)
		synctest.Wait() // by the notification: no time has passed
		got := s.at("a.example")
		if len(got) != 1 || got[0].id != "msg_0" || string(got[0].body) != `{"n":0}` || !verified(got[0], hook.Secret) {
			t.Fatalf("%+v", got)
		}
		d := s.deliveries(hook)[0]
		if d.State != store.DeliveryDelivered || len(d.Attempts) != 1 || d.Attempts[0].Status != 204 || d.Attempts[0].Error != "" {
			t.Errorf("%+v", d)
		}
	})
}

// Without a notification, since another replica has written it, or it was claimed by one that died.
func TestFindsWhatIsDue(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example")
		s.end()
		s.happens(hook, 1)
		if _, claimed, err := s.store.ClaimDeliveries(s.Context(), hook.ID, 1, 30*time.Second); err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		s.start()
		sleep(29 * time.Second)
		if got := s.at("a.example"); len(got) != 0 {
			t.Errorf("sent while somebody else may be sending it: %+v", got)
		}
		sleep(3 * time.Second)
		if got := s.at("a.example"); len(got) != 1 || s.deliveries(hook)[0].Begun != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTriesAgain(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example")
		s.answers("a.example", said(500))
		s.happens(hook, 1)
		sleep(4 * time.Minute)
		s.answers("a.example", said(200))
		sleep(12 * time.Minute)
		got := s.at("a.example")
		if len(got) != 5 {
			t.Fatalf("%d attempts", len(got))
		}
		for i, want := range []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute} {
			if pause := got[i+1].time.Sub(got[i].time); pause < want || pause > want*6/5+2*time.Second {
				t.Errorf("attempt %d comes after %v, want %v", i+2, pause, want)
			}
			if got[i+1].id != got[0].id || string(got[i+1].body) != string(got[0].body) || got[i+1].at == got[i].at || !verified(got[i+1], hook.Secret) {
				t.Errorf("attempt %d: %+v", i+2, got[i+1])
			}
		}
		if d := s.deliveries(hook)[0]; d.State != store.DeliveryDelivered || len(d.Attempts) != 5 || d.Attempts[0].Error != "The target answered 500." {
			t.Errorf("%+v", d)
		}
		if _, err := s.service.Resend(s.Context(), tenant, hook.ID, got[0].id, ann, "api"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := s.at("a.example"); len(got) != 6 || got[5].id != got[0].id {
			t.Errorf("redelivered: %+v", got)
		}
	})
}

func TestSlowTargetHoldsUpItself(t *testing.T) {
	play(t, func(s *scene) {
		slow, fast := s.hook("slow.example"), s.hook("fast.example")
		s.answers("slow.example", hangs)
		s.happens(slow, 12)
		s.happens(fast, 40)
		synctest.Wait()
		if a, b := len(s.at("slow.example")), len(s.at("fast.example")); a != 4 || b != 40 {
			t.Errorf("%d requests to the slow one, %d to the fast one", a, b)
		}
		sleep(16 * time.Second)
		if n := len(s.at("slow.example")); n != 5 {
			t.Errorf("%d requests after the first have failed: it has one at a time from now on", n)
		}
		for _, d := range s.deliveries(slow) {
			if len(d.Attempts) > 0 && d.Attempts[0].Error != "The target took more than 15 seconds." {
				t.Errorf("%+v", d.Attempts)
			}
		}
	})
}

func TestManyTargetsHaveTurns(t *testing.T) {
	play(t, func(s *scene) {
		var all []store.Webhook
		for i := range 20 {
			host := fmt.Sprintf("t%d.example", i)
			s.answers(host, hangs)
			all = append(all, s.hook(host))
		}
		for _, hook := range all {
			s.happens(hook, 6)
		}
		synctest.Wait()
		s.mu.Lock()
		if len(s.arrived) != 32 {
			t.Errorf("%d requests at once", len(s.arrived))
		}
		s.mu.Unlock()
		sleep(32 * time.Second)
		for i := range all {
			if len(s.at(fmt.Sprintf("t%d.example", i))) == 0 {
				t.Errorf("target %d had no turn", i)
			}
		}
	})
}

// What a tenant with many slow targets has under way leaves room for another, and those two for a third.
func TestSlowTenantHoldsUpItself(t *testing.T) {
	play(t, func(s *scene) {
		for _, owner := range []domain.TenantID{"slow", "slower"} {
			for i := range webhooks.MaxPerTenant {
				host := fmt.Sprintf("%s%d.example", owner, i)
				s.answers(host, func(r *http.Request) (*http.Response, error) { time.Sleep(14 * time.Second); return said(200)(r) })
				s.happens(s.hook(host, func(o *webhooks.CreateParams) { o.Tenant = owner }), 12)
			}
		}
		hook := s.hook("fast.example")
		for n := range 30 {
			sleep(time.Second)
			_, err := s.service.Test(s.Context(), tenant, hook.ID)
			s.must(err)
			synctest.Wait() // by the notification: no time has passed
			if got := len(s.at("fast.example")); got != n+1 {
				t.Fatalf("%d of %d are sent; the others wait for the targets of other tenants", got, n+1)
			}
		}
	})
}

// A redelivery that is asked for while the target keeps an attempt waiting is sent when that is over, also after the last attempt.
func TestRedeliveryDuringAnAttempt(t *testing.T) {
	for name, failed := range map[string]int{"one of many": 7, "the last": 10} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				hook := s.hook("a.example")
				s.answers("a.example", said(500))
				s.happens(hook, 1)
				for len(s.at("a.example")) < failed {
					sleep(time.Minute)
				}
				s.answers("a.example", hangs)
				for len(s.at("a.example")) == failed {
					sleep(time.Second)
				}
				s.answers("a.example", nil)
				_, err := s.service.Resend(s.Context(), tenant, hook.ID, "msg_0", ann, "api")
				s.must(err)
				sleep(20 * time.Second)
				d := s.deliveries(hook)[0]
				if d.State != store.DeliveryDelivered || len(d.Attempts) != failed+2 || d.Attempts[failed].Error == "" {
					t.Errorf("%+v", d)
				}
			})
		})
	}
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer   func(*http.Request) (*http.Response, error)
		state    store.DeliveryState
		error    string
		wait     time.Duration // at least, until the next attempt
		disabled bool
	}{
		"accepted":               {answer: said(202), state: store.DeliveryDelivered},
		"gone":                   {answer: said(410), state: store.DeliveryFailed, error: "410", disabled: true},
		"a redirect":             {answer: said(302, "Location", "https://b.example/"), state: store.DeliveryPending, error: "redirect, which is not followed", wait: 5 * time.Second},
		"not modified":           {answer: said(304), state: store.DeliveryPending, error: "redirect", wait: 5 * time.Second},
		"busy":                   {answer: said(429, "Retry-After", "120"), state: store.DeliveryPending, error: "429", wait: 2 * time.Minute},
		"busy for ever":          {answer: said(503, "Retry-After", "9999999"), state: store.DeliveryPending, error: "503", wait: time.Hour},
		"not busy at all":        {answer: said(503, "Retry-After", "0"), state: store.DeliveryPending, error: "503", wait: 5 * time.Second},
		"busy until some moment": {answer: said(503, "Retry-After", "Sat, 01 Jan 2000 00:10:00 GMT"), state: store.DeliveryPending, error: "503", wait: 9 * time.Minute},
		"broken": {answer: func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, state: store.DeliveryPending,
			error: "could not be reached", wait: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(s *scene) {
				hook := s.hook("a.example")
				s.answers("a.example", c.answer)
				s.happens(hook, 1)
				synctest.Wait()
				d := s.deliveries(hook)[0]
				if d.State != c.state || len(d.Attempts) != 1 || !strings.Contains(d.Attempts[0].Error, c.error) || strings.Contains(d.Attempts[0].Error, "secret") {
					t.Errorf("%+v", d)
				}
				if c.wait > 0 && (d.Due.Before(time.Now().Add(c.wait)) || d.Due.After(time.Now().Add(c.wait*6/5+time.Second))) {
					t.Errorf("due in %v", time.Until(*d.Due))
				}
				got, err := s.store.Webhook(s.Context(), tenant, hook.ID)
				if err != nil || (got.Disabled != nil) != c.disabled {
					t.Errorf("%+v, %v", got, err)
				}
				if len(s.at("b.example")) > 0 {
					t.Error("the redirect was followed")
				}
				if c.disabled {
					if _, err := s.service.Test(s.Context(), tenant, hook.ID); domain.CodeOf(err) != domain.CodeConflict {
						t.Errorf("tested: %v", err)
					}
				}
			})
		})
	}
}

// A server that stops gives back what it has begun, and its successor sends it at once.
func TestStopGivesBack(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example")
		s.answers("a.example", hangs)
		s.happens(hook, 1)
		synctest.Wait()
		s.end()
		s.answers("a.example", nil)
		s.start()
		synctest.Wait()
		if d := s.deliveries(hook)[0]; d.State != store.DeliveryDelivered || d.Begun != 1 || len(s.at("a.example")) != 2 {
			t.Errorf("%+v", d)
		}
	})
}

func TestBothSecretsSign(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example")
		rotated, err := s.service.Rotate(s.Context(), tenant, hook.ID, "", ann, "api")
		s.must(err)
		s.happens(hook, 1)
		synctest.Wait()
		if got := s.at("a.example")[0]; rotated.Secret == hook.Secret || !verified(got, hook.Secret) || !verified(got, rotated.Secret) {
			t.Errorf("%+v", got)
		}
		s.end() // or it would look every second of the day
		sleep(25 * time.Hour)
		s.start()
		_, err = s.service.Test(s.Context(), tenant, hook.ID)
		s.must(err)
		synctest.Wait()
		if got := s.at("a.example")[1]; verified(got, hook.Secret) || !verified(got, rotated.Secret) || strings.Contains(got.signature, " ") {
			t.Errorf("a day later: %+v", got)
		}
	})
}

// The link is put in when the request is made, the same in each attempt, and is nowhere in the database.
func TestLinksAreAddedWhenSent(t *testing.T) {
	play(t, func(s *scene) {
		hook := s.hook("a.example", func(o *webhooks.CreateParams) { o.Links, o.Description = true, "the phone" })
		plain := s.hook("b.example")
		s.answers("a.example", said(500))
		expires := time.Now().Add(10 * time.Minute).UTC()
		body := domain.Encode(domain.Notification{Type: domain.ApprovalRequestedType, Timestamp: time.Now().UTC(),
			Data: domain.NotificationData{Approval: "a1", Expires: &expires}})
		for _, h := range []store.Webhook{hook, plain} {
			s.must(s.store.AddDelivery(s.Context(), store.Delivery{Webhook: h.ID, ID: "msg_1", Tenant: tenant, Type: string(domain.ApprovalRequestedType), Body: body}))
		}
		sleep(10 * time.Second)
		got := s.at("a.example")
		if len(got) != 2 || string(got[0].body) != string(got[1].body) || !verified(got[1], hook.Secret) {
			t.Fatalf("%+v", got)
		}
		var notice domain.Notification
		s.must(json.Unmarshal(got[0].body, &notice))
		token, isLink := strings.CutPrefix(notice.Data.Link, "https://signoff.example/approve/")
		grant, err := s.links.Read(token, time.Now())
		if !isLink || err != nil || grant.Approval != "a1" || grant.Tenant != tenant || grant.For != "the phone" || grant.Webhook != hook.ID || grant.Expires.After(expires) {
			t.Errorf("%s: %+v, %v", notice.Data.Link, grant, err)
		}
		if strings.Contains(string(s.at("b.example")[0].body), "approve/") || strings.Contains(string(s.deliveries(hook)[0].Body), "approve/") {
			t.Error("a link where none is wanted")
		}
	})
}

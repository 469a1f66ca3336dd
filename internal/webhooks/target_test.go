package webhooks

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func TestTargets(t *testing.T) {
	targets := Targets{AllowHosts: []string{"127.0.0.1:9000", "hooks.internal", "[::1]:9000"}}
	if err := targets.Check(); err != nil {
		t.Fatal(err)
	}
	for address, fine := range map[string]bool{
		"https://hooks.example/in?a=b": true, "https://hooks.example:8443": true, "https://93.184.216.34/": true,
		"http://127.0.0.1:9000/in": true, "http://hooks.internal/": true, "https://hooks.internal:8443/": true, "http://[::1]:9000/": true,
		"http://hooks.example/": false, "http://127.0.0.1:9001/": false, "http://127.0.0.1/": false,
		"https://127.0.0.1/": false, "https://10.0.0.1/": false, "https://169.254.169.254/latest": false, "https://[::1]/": false,
		"https://[::ffff:10.0.0.1]/": false, "https://2130706433/": false, "https://0x7f.1/": false, "https://127.1/": false,
		"https://me:pass@hooks.example/": false, "https://me@hooks.example/": false, "https://hooks.example/#x": false, "https://hooks.example/#": false,
		"hooks.example": false, "/in": false, "": false, "https:": false, "https://": false, "https:hooks.example": false, "//hooks.example": false,
		"ftp://hooks.example/": false, "file:///etc/passwd": false, "https://hooks.example:0/": false, "https://hooks.example:99999/": false,
		"https://hooks.example:65535/": true, "https://hooks.example:/": true, "http://hooks.internal:0/": false, "https://*.example/": false, "https://*/": false,
		"https://a b/": false, "https://hooks.example/\n": false, "https://ho\u202Eoks.example/": false,
		"https://hooks.example/" + strings.Repeat("x", maxURL): false,
	} {
		err := targets.check(address)
		if (err == nil) != fine || err != nil && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%.60q: %v", address, err)
		}
	}
	for _, entry := range []string{"*", "https://x", "x:0", "x:http", "x y", "", "127.0.0.1:99999", "2130706433"} {
		if err := (Targets{AllowHosts: []string{"fine", entry}}).Check(); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q is an entry: %v", entry, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	one, two := newSecret(), newSecret()
	if err := checkSecret(one); err != nil || one == two {
		t.Error(err)
	}
	for _, secret := range []string{"", "x", "whsec_", "whsec_c2hvcnQ=", "whsec_!", "whsec_" + strings.Repeat("A", 100),
		"WHSEC_" + strings.Repeat("A", 40), strings.Repeat("A", 40), "whsec_" + strings.Repeat("A", 39) + "\n"} {
		if err := checkSecret(secret); domain.CodeOf(err) != domain.CodeInvalid || secret != "" && len(secret) > 6 && strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", secret, err)
		}
	}
	// The example of the Standard Webhooks specification's libraries.
	got := sign([]string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", ""}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
}

func TestScheduleLastsForADay(t *testing.T) {
	var all time.Duration
	n := 1
	for wait, more := next(n, 0); more; wait, more = next(n, 0) {
		all += wait
		n++
	}
	if n != 11 || all < 24*time.Hour || all > 36*time.Hour {
		t.Errorf("%d attempts in %v", n, all)
	}
}

// What is sent goes through the network as it is: an address that is not public is refused when it is dialled, whatever its name says.
func TestEgress(t *testing.T) {
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	port := address[strings.LastIndex(address, ":"):]
	for _, c := range []struct {
		targets Targets
		url     string
		want    string
		reached int
	}{
		{Targets{}, server.URL, "this machine itself", 0},
		{Targets{}, "http://localhost" + port, "this machine itself", 0},
		{Targets{}, "http://169.254.169.254/latest/meta-data", "not public", 0},
		{Targets{AllowHosts: []string{"127.0.0.1:1"}}, server.URL, "this machine itself", 0},
		{Targets{AllowHosts: []string{address}}, "http://localhost" + port, "this machine itself", 0},
		{Targets{AllowHosts: []string{address}}, server.URL, "redirect", 1},
		{Targets{AllowHosts: []string{"localhost"}}, "http://localhost" + port, "redirect", 2},
	} {
		transport := newTransport(c.targets)
		done, err := newSender(transport, nil, "test").send(context.Background(), store.Webhook{URL: c.url, Secret: newSecret()}, store.Delivery{ID: "x", Begun: 1})
		transport.CloseIdleConnections()
		if err != nil || !strings.Contains(done.Attempt.Error, c.want) || reached != c.reached || done.State != store.DeliveryPending {
			t.Errorf("%s with %v: %+v, %v; reached %d times", c.url, c.targets, done, err, reached)
		}
	}
}

func TestLinks(t *testing.T) {
	links, now := NewLinks([]byte("key"), "https://signoff.example/"), time.Now()
	soon := now.Add(time.Minute)
	approval := domain.Approval{ID: "a", Tenant: "t", Expires: &soon}
	url, expires := links.To(approval, "<ann>", "k", now)
	token, isLink := strings.CutPrefix(url, "https://signoff.example"+LinkPath)
	grant, err := links.Read(token, now)
	if !isLink || err != nil || grant != (Grant{Approval: "a", Tenant: "t", Expires: expires, For: "<ann>", Key: "k"}) || expires.After(soon) {
		t.Fatalf("%s: %+v, %v", url, grant, err)
	}
	approval.Expires = nil
	if _, expires := links.To(approval, "", "", now); !expires.Equal(now.Add(LinkLife).UTC().Truncate(time.Second)) {
		t.Errorf("a link to what never expires holds until %v", expires)
	}
	said, signature, _ := strings.Cut(token, ".")
	forged, _, _ := strings.Cut(NewLinks([]byte("other"), "").token(Grant{Approval: "b", Expires: soon}), ".")
	for _, bad := range []string{"", ".", token + "x", token + "=", said, said + ".", forged + "." + signature, "." + signature, token + "\n",
		NewLinks([]byte("other"), "").token(grant), links.token(Grant{Approval: "a", Expires: now})} {
		if _, err := links.Read(bad, now); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := links.Read(token, expires); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("over: %v", err)
	}
}

package oauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/mcp/oauth/oauthtest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const tenant = domain.DefaultTenant

func keyText(fill string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32)))
}

func keysOf(t testing.TB, text string) Keys {
	t.Helper()
	keys, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// replica is one server process, and what it has told its masker.
type replica struct {
	*Credentials
	lock    sync.Mutex
	learned []string
}

func newReplica(t *testing.T, rows Rows, change ...func(*Config)) *replica {
	t.Helper()
	r := &replica{}
	config := Config{
		Rows: rows, Keys: keysOf(t, keyText("k")), HTTP: mcp.HTTPClient,
		Lookup: func(name string) (string, bool) { return "value-of-" + name, true },
		Learn: func(_ string, values ...string) {
			r.lock.Lock()
			defer r.lock.Unlock()
			r.learned = append(r.learned, values...)
		},
	}
	for _, do := range change {
		do(&config)
	}
	r.Credentials = NewCredentials(config)
	t.Cleanup(r.Close)
	return r
}

func (r *replica) handler(t *testing.T, server mcp.Server) auth.OAuthHandler {
	t.Helper()
	h, err := r.Handler(tenant, "tools", server)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (r *replica) login(t *testing.T, server mcp.Server, scopes ...string) SignIn {
	t.Helper()
	got, err := r.Login(t.Context(), Login{Tenant: tenant, Name: "tools", Server: server, Scopes: scopes, Show: oauthtest.Browse})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// call sends a request as the SDK does: it asks for a token, and after a refusal once more.
func call(ctx context.Context, h auth.OAuthHandler, server mcp.Server) error {
	for attempt := 1; ; attempt++ {
		source, err := h.TokenSource(ctx)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{}`))
		if err != nil {
			return err
		}
		token, err := source.Token()
		if err != nil {
			return err
		}
		token.SetAuthHeader(request)
		response, err := (&http.Client{Timeout: time.Minute}).Do(request)
		if err != nil {
			return err
		}
		status := response.StatusCode
		if attempt == 1 && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
			if err := h.Authorize(ctx, request, response); err != nil {
				return err
			}
			continue
		}
		response.Body.Close()
		if status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	}
}

func works(t *testing.T, h auth.OAuthHandler, server mcp.Server) {
	t.Helper()
	if err := call(t.Context(), h, server); err != nil {
		t.Fatal(everything(err))
	}
}

// refuses fails the test where a call does not end with an error for clients that has these words.
func refuses(t *testing.T, h auth.OAuthHandler, server mcp.Server, words ...string) {
	t.Helper()
	err := call(t.Context(), h, server)
	var coded *domain.Error
	if !errors.As(err, &coded) || coded.Code != domain.CodeMCPServerUnavailable {
		t.Fatalf("got %v", err)
	}
	for _, word := range words {
		if !strings.Contains(coded.Message, word) {
			t.Errorf("%q does not say %q", coded.Message, word)
		}
	}
}

// everything is an error with its causes, as a log has it.
func everything(err error) string {
	var all []string
	for ; err != nil; err = errors.Unwrap(err) {
		all = append(all, err.Error())
		if coded, is := err.(*domain.Error); is && coded.Cause != nil { //nolint:errorlint // each one of the chain
			all = append(all, everything(coded.Cause))
		}
	}
	return strings.Join(all, "\n")
}

// change writes other tokens into the row, as if time had gone by.
func (r *replica) change(t *testing.T, do func(*tokens)) {
	t.Helper()
	row := r.row(t)
	opened, _, err := r.config.Keys.openTokens(row)
	if err != nil {
		t.Fatal(err)
	}
	do(&opened)
	sealed, err := r.config.Keys.sealTokens(row.MCPCredentialKey, opened)
	if err != nil {
		t.Fatal(err)
	}
	if written, err := r.config.Rows.RenewMCPCredential(t.Context(), row, sealed); err != nil || !written {
		t.Fatal(written, err)
	}
}

func expire(t *tokens) {
	t.Issued, t.Expires = time.Now().Add(-time.Hour), time.Now().Add(-time.Second)
}

// nearlyExpire leaves tokens that are renewed, and that hold.
func nearlyExpire(t *tokens) {
	t.Issued, t.Expires = time.Now().Add(-time.Hour), time.Now().Add(30*time.Second)
}

func (r *replica) row(t *testing.T) domain.MCPCredential {
	t.Helper()
	rows, err := r.config.Rows.MCPCredentialsOf(t.Context(), tenant, "tools")
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0]
}

// forget lets the next request read the row again, as it does after a few seconds.
func (r *replica) forget() {
	r.Credentials.lock.Lock()
	defer r.Credentials.lock.Unlock()
	for _, g := range r.grants {
		g.turn <- struct{}{}
		g.looked = time.Time{}
		<-g.turn
	}
}

func TestASignInIsUsedByAllReplicas(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		a := oauthtest.New(t)
		server := a.Entry(mcp.OAuth{})
		one, two := newReplica(t, s), newReplica(t, s)
		h := two.handler(t, server)
		refuses(t, h, server, "`signoff mcp login tools`")

		got := one.login(t, server)
		if !got.Renewed || got.Issuer != a.URL || got.Resource != server.URL || !slices.Equal(got.Scopes, []string{"tools"}) || got.State(time.Now()) != "good" {
			t.Errorf("%+v", got)
		}
		works(t, h, server)
		works(t, one.handler(t, server), server)
		if len(a.Asked) != 1 || a.Asked[0].Get("resource") != server.URL || len(a.Asked[0].Get("state")) < 20 {
			t.Errorf("asked %v", a.Asked)
		}
		row := one.row(t)
		for _, secret := range a.Secrets {
			if strings.Contains(string(row.Sealed), secret) {
				t.Errorf("%s is stored in the clear", secret)
			}
			if !strings.HasPrefix(secret, "code") && (!slices.Contains(one.learned, secret) || !slices.Contains(two.learned, secret)) {
				t.Errorf("%s is not known to the masker", secret)
			}
		}

		if err := one.Logout(t.Context(), tenant, "tools"); err != nil {
			t.Fatal(err)
		}
		if err := one.Logout(t.Context(), tenant, "tools"); domain.CodeOf(err) != domain.CodeNotFound {
			t.Error(err)
		}
		works(t, h, server) // for a few seconds
		two.forget()
		refuses(t, h, server, "`signoff mcp login tools`")
		if chain := storetest.Chain(t, s, tenant); len(chain) != 2 || !strings.Contains(string(chain[0].Record), "mcp.signedIn") || !strings.Contains(string(chain[1].Record), "mcp.signedOut") {
			t.Errorf("audited: %v", chain)
		}
	})
}

// Of all connections on all replicas one renews: the second use of a refresh token would end the sign-in.
func TestOneRenewsForAll(t *testing.T) {
	run := func(t *testing.T, replicas []*store.Store) {
		a := oauthtest.New(t)
		server := a.Entry(mcp.OAuth{})
		all := []*replica{newReplica(t, replicas[0]), newReplica(t, replicas[1])}
		all[0].login(t, server)
		for n := 1; n <= 5; n++ {
			all[0].change(t, expire)
			for _, r := range all {
				r.handler(t, server)
				r.forget()
			}
			var calls sync.WaitGroup
			for i := range 8 {
				h := all[i%2].handler(t, server)
				calls.Go(func() {
					if err := call(t.Context(), h, server); err != nil {
						t.Error(everything(err))
					}
				})
			}
			calls.Wait()
			if got := a.TokenRequests("refresh_token"); len(got) != n || got[n-1].Get("resource") != server.URL {
				t.Fatalf("%d renewals, not %d: %v", len(got), n, got)
			}
		}
	}
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); run(t, storetest.SQLiteReplicas(t, 2)) })
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); run(t, storetest.PostgresReplicas(t, 2)) })
}

// A replica that died in the middle of a renewal holds the others up as long as its claim lasts.
func TestADeadReplicasClaimRunsOut(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		a := oauthtest.New(t)
		server := a.Entry(mcp.OAuth{})
		r := newReplica(t, s)
		r.login(t, server)
		r.change(t, nearlyExpire)
		claim := func(ttl time.Duration) {
			t.Helper()
			if claimed, err := s.ClaimMCPCredential(t.Context(), r.row(t), "dead", ttl); err != nil || !claimed {
				t.Fatal(claimed, err)
			}
		}
		claim(time.Hour)
		h := r.handler(t, server)
		works(t, h, server) // the tokens still hold
		if n := len(a.TokenRequests("refresh_token")); n != 0 {
			t.Errorf("%d renewals beside another", n)
		}
		r.change(t, expire)
		claim(300 * time.Millisecond)
		r.forget()
		works(t, h, server)
		if n := len(a.TokenRequests("refresh_token")); n != 1 {
			t.Errorf("%d renewals", n)
		}
	})
}

// Tokens that still hold are used where they cannot be renewed. A refusal is remembered, for all replicas.
func TestARefusedRefreshTokenIsNotSentAgain(t *testing.T) {
	s := storetest.SQLite(t)
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	one, two := newReplica(t, s), newReplica(t, s)
	one.login(t, server)
	h := one.handler(t, server)

	a.Change(func() {
		a.OnToken = func(w http.ResponseWriter, _ url.Values) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
	})
	one.change(t, nearlyExpire)
	works(t, h, server)
	one.change(t, expire)
	one.forget()
	refuses(t, h, server, "gets no token")
	if row := one.row(t); row.Refused != nil {
		t.Error("an answer that says nothing ends the sign-in")
	}

	a.Change(func() {
		a.OnToken = func(w http.ResponseWriter, _ url.Values) bool {
			oauthtest.SendJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"}, nil)
			return true
		}
	})
	before := len(a.TokenRequests("refresh_token"))
	one.change(t, nearlyExpire)
	one.forget()
	for range 3 {
		works(t, h, server)
	}
	one.forget()
	works(t, two.handler(t, server), server)
	if n := len(a.TokenRequests("refresh_token")) - before; n != 1 {
		t.Errorf("a dead refresh token was sent %d times", n)
	}
	rows, err := one.List(t.Context(), tenant)
	if err != nil || rows[0].Refused == nil || rows[0].State(time.Now().Add(time.Hour)) != "sign in again" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A server that refuses a token gets a new one, once: then only a person can help.
func TestARevokedTokenIsReplacedOnce(t *testing.T) {
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	r := newReplica(t, storetest.SQLite(t))
	r.login(t, server)
	h := r.handler(t, server)
	a.Revoke(false)
	works(t, h, server)
	if n := len(a.TokenRequests("refresh_token")); n != 1 {
		t.Errorf("%d renewals", n)
	}
	a.Revoke(false)
	for range 3 {
		refuses(t, h, server, "refuses the tokens", "`signoff mcp login tools`")
	}
	if n := len(a.TokenRequests("refresh_token")); n != 1 {
		t.Errorf("%d renewals", n)
	}
	r.login(t, server)
	works(t, h, server) // at once: a refusal reads the row

	a.Revoke(true)
	refuses(t, h, server, "`signoff mcp login tools`")
	if r.row(t).Refused == nil {
		t.Error("the refusal is not remembered")
	}
}

func TestASignInWithoutARefreshTokenExpires(t *testing.T) {
	a := oauthtest.New(t)
	a.NoRefresh = true
	server := a.Entry(mcp.OAuth{})
	r := newReplica(t, storetest.SQLite(t))
	if got := r.login(t, server); got.Renewed || got.State(time.Now().Add(2*time.Hour)) != "expired" {
		t.Errorf("%+v", got)
	}
	h := r.handler(t, server)
	r.change(t, nearlyExpire)
	works(t, h, server)
	r.change(t, expire)
	r.forget()
	refuses(t, h, server, "`signoff mcp login tools`")
	if n := len(a.TokenRequests("refresh_token")); n != 0 {
		t.Errorf("%d renewals", n)
	}
}

// stubborn are rows that cannot be written for a while.
type stubborn struct {
	Rows
	lock  sync.Mutex
	fails int
}

func (s *stubborn) RenewMCPCredential(ctx context.Context, read domain.MCPCredential, sealed []byte) (bool, error) {
	s.lock.Lock()
	s.fails--
	fails := s.fails >= 0
	s.lock.Unlock()
	if fails {
		return false, errors.New("the database does not answer")
	}
	return s.Rows.RenewMCPCredential(ctx, read, sealed)
}

// New tokens are worth more than the caller who waits for them: neither the end of the caller nor a database that fails for a moment loses them.
func TestNewTokensAreNotLost(t *testing.T) {
	s := storetest.SQLite(t)
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	rows := &stubborn{Rows: s}
	r := newReplica(t, rows)
	r.login(t, server)
	r.change(t, expire)
	arrived, answer := make(chan struct{}), make(chan struct{})
	a.Change(func() {
		a.OnToken = func(http.ResponseWriter, url.Values) bool { close(arrived); <-answer; return false }
	})
	rows.lock.Lock()
	rows.fails = 3
	rows.lock.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- call(ctx, r.handler(t, server), server) }()
	<-arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller waits on: %v", err)
	}
	a.Change(func() { a.OnToken = nil })
	close(answer)
	r.Close() // waits
	other := newReplica(t, s)
	works(t, other.handler(t, server), server)
	if n := len(a.TokenRequests("refresh_token")); n != 1 {
		t.Errorf("%d renewals", n)
	}
	if err := call(t.Context(), r.handler(t, server), server); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("closed credentials give tokens: %v", err)
	}
}

// A sign-in that comes while the tokens before it are renewed stays.
func TestASignInDuringARenewalWins(t *testing.T) {
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	r := newReplica(t, storetest.SQLite(t))
	cli := newReplica(t, r.config.Rows)
	r.login(t, server)
	r.change(t, expire)
	arrived, answer := make(chan struct{}), make(chan struct{})
	a.Change(func() {
		a.OnToken = func(_ http.ResponseWriter, form url.Values) bool {
			if form.Get("grant_type") == "refresh_token" {
				close(arrived)
				<-answer
			}
			return false
		}
	})
	ended := make(chan error)
	h := r.handler(t, server)
	go func() { ended <- call(t.Context(), h, server) }()
	<-arrived
	cli.login(t, server)
	after := r.row(t)
	close(answer)
	if err := <-ended; err != nil {
		t.Error(everything(err))
	}
	if row := r.row(t); string(row.Sealed) != string(after.Sealed) {
		t.Error("the sign-in was overwritten")
	}
}

func TestMissingScopesAreNamed(t *testing.T) {
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	r := newReplica(t, storetest.SQLite(t))
	r.login(t, server)
	h := r.handler(t, server)
	works(t, h, server)
	a.Change(func() { a.Needs = "files:write" })
	refuses(t, h, server, `"files:write"`, "`signoff mcp login tools --scopes files:write`")
	r.login(t, server, "files:write")
	if got := strings.Fields(a.Asked[1].Get("scope")); !slices.Equal(got, []string{"tools", "files:write"}) {
		t.Errorf("asked for %q", got)
	}
	works(t, h, server) // at once
	a.Change(func() { a.Challenge = `, scope="other"` })
	r.login(t, server)
	if got := strings.Fields(a.Asked[2].Get("scope")); !slices.Equal(got, []string{"other", "tools", "files:write"}) {
		t.Errorf("what was granted before is lost: %q", got)
	}
	r.forget()
	// The server chooses the name, and a person copies the command.
	a.Change(func() { a.Needs = "$(touch${IFS}x);`id`" })
	err := call(t.Context(), h, server)
	if message := domain.FailureOf(err).Message; !strings.Contains(message, "`signoff mcp login tools --scopes …`") {
		t.Error(message)
	}
}

// Tokens are sent to nobody but the server that they are for, by the client that they are of.
func TestTokensOfAnotherEntryAreNotUsed(t *testing.T) {
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	r := newReplica(t, storetest.SQLite(t))
	r.login(t, server)
	for name, change := range map[string]func(*mcp.Server){
		"another address": func(s *mcp.Server) { s.URL = "http://127.0.0.1:1/mcp" },
		"another path":    func(s *mcp.Server) { s.URL = a.Tools.URL + "/mcp2" },
		"above":           func(s *mcp.Server) { s.URL = a.Tools.URL },
		"another scheme":  func(s *mcp.Server) { s.URL = strings.Replace(s.URL, "http:", "https:", 1) },
		"another client":  func(s *mcp.Server) { s.OAuth = &mcp.OAuth{ClientID: "mine"} },
		"another issuer":  func(s *mcp.Server) { s.OAuth = &mcp.OAuth{Issuer: "https://as.example"} },
	} {
		changed := server
		change(&changed)
		if _, err := r.handler(t, changed).TokenSource(t.Context()); domain.CodeOf(err) != domain.CodeMCPServerUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	h, err := r.Handler("other", "tools", server)
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, h, server, "`signoff mcp login tools --tenant other`")
	// A row that somebody copies to another tenant opens with no key.
	row := r.row(t)
	row.Tenant = "other"
	if err := r.config.Rows.SaveMCPCredential(t.Context(), row, domain.AuditRecord{Action: "x", Channel: "x"}); err != nil {
		t.Fatal(err)
	}
	refuses(t, h, server, "encrypted with a key")
}

func TestKeysAreReplaced(t *testing.T) {
	s := storetest.SQLite(t)
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{})
	with := func(text string) *replica {
		return newReplica(t, s, func(c *Config) { c.Keys = keysOf(t, text) })
	}
	old := with(keyText("a"))
	old.login(t, server)
	state := func(r *replica, want string) {
		t.Helper()
		all, err := r.List(t.Context(), tenant)
		if err != nil || len(all) != 1 || all[0].State(time.Now()) != want {
			t.Errorf("%+v, %v", all, err)
		}
	}
	state(with(keyText("b")), "no key opens it")
	refuses(t, with(keyText("b")).handler(t, server), server, "SIGNOFF_ENCRYPTION_KEY", "`signoff mcp login tools`")
	both := with(keyText("b") + ", " + keyText("a"))
	state(both, "good, under an older key")
	both.change(t, expire)
	state(with(keyText("b")), "good") // what is written anew is under the first key
	works(t, both.handler(t, server), server)
	state(with(keyText("b")), "good")

	if _, err := with("").Handler(tenant, "tools", server); domain.CodeOf(err) != domain.CodeMCPServerUnavailable || !strings.Contains(err.Error(), "SIGNOFF_ENCRYPTION_KEY") {
		t.Error(err)
	}
}

func TestFormsOfKeys(t *testing.T) {
	if keys, err := ParseKeys(" "); err != nil || keys.Usable() {
		t.Error(keys, err)
	}
	for _, text := range []string{"secret-text", keyText("a") + ",", base64.StdEncoding.EncodeToString([]byte("secret-text")), keyText("a") + ";" + keyText("b"), keyText("a") + keyText("a")} {
		_, err := ParseKeys(text)
		if err == nil || !strings.Contains(err.Error(), MakeKey) || strings.Contains(err.Error(), "secret-text") || strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	keys := keysOf(t, keyText("a"))
	one, two := keys.seal([]byte("plain"), []byte("here")), keys.seal([]byte("plain"), []byte("here"))
	if string(one) == string(two) {
		t.Error("what is encrypted twice is the same")
	}
	if plain, older, err := keys.open(one, []byte("here")); err != nil || older || string(plain) != "plain" {
		t.Error(plain, older, err)
	}
	for i := range one {
		changed := slices.Clone(one)
		changed[i] ^= 1
		if _, _, err := keys.open(changed, []byte("here")); err == nil {
			t.Fatalf("byte %d may be changed", i)
		}
	}
	for _, sealed := range [][]byte{nil, {form}, one[:len(one)-1]} {
		if _, _, err := keys.open(sealed, []byte("here")); err == nil {
			t.Errorf("%d bytes open", len(sealed))
		}
	}
	if _, _, err := keys.open(one, []byte("there")); err == nil {
		t.Error("it opens elsewhere")
	}
}

func TestServersWithoutASignInHaveNoHandler(t *testing.T) {
	if h, err := newReplica(t, nil).Handler(tenant, "a", mcp.Server{URL: "https://a.example"}); h != nil || err != nil {
		t.Error(h, err)
	}
}

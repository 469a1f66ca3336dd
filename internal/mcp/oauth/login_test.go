package oauth

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/mcp"
	"signoff/internal/mcp/oauth/oauthtest"
	"signoff/internal/store/storetest"
)

// A sign-in that is not as it should be ends before a code is sent anywhere, and stores nothing.
func TestSignInsThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil  func(a *oauthtest.Server)
		signIn mcp.OAuth
		says   string
		not    string // what the error must not show
		tries  bool   // a token request is made
	}{
		"issuer of another":      {spoil: answers("iss", "https://evil.example"), says: "comes from https://evil.example"},
		"issuer with a slash":    {spoil: func(a *oauthtest.Server) { answers("iss", a.URL+"/")(a) }, says: "is not used"},
		"no issuer":              {spoil: answers("iss", ""), says: "does not say which"},
		"unadvertised and wrong": {spoil: func(a *oauthtest.Server) { quiet(a); answers("iss", "https://evil.example")(a) }, says: "comes from https://evil.example"},
		"error of another": {spoil: func(a *oauthtest.Server) {
			answers("error", "access_denied", "error_description", "call 555", "iss", "https://evil.example")(a)
		}, says: "comes from", not: "555"},
		"error":                     {spoil: answers("error", "access_denied", "error_description", "the person\x1b[31m says no"), says: "access_denied: the person [31m says no"},
		"error that is no code":     {spoil: answers("error", "a b"), says: "an error"},
		"no code":                   {spoil: answers("code", ""), says: "no code"},
		"code of another":           {spoil: answers("code", "stolen"), says: "invalid_grant", tries: true},
		"resource of another":       {spoil: resources("resource", "https://evil.example/mcp"), says: "https://evil.example/mcp, which is not its address"},
		"resource below":            {spoil: func(a *oauthtest.Server) { resources("resource", a.Tools.URL+"/mcp/more")(a) }, says: "not its address"},
		"resource beside":           {spoil: func(a *oauthtest.Server) { resources("resource", a.Tools.URL+"/mc")(a) }, says: "not its address"},
		"no authorization server":   {spoil: resources("authorization_servers", nil), says: "oauth.issuer"},
		"private server":            {spoil: resources("authorization_servers", []string{"http://localhost:1"}), says: "localhost"},
		"not the configured server": {signIn: mcp.OAuth{Issuer: "https://as.example"}, says: "not the one of oauth.issuer"},
		"metadata of another":       {spoil: metadata("issuer", "https://evil.example"), says: "does not match"},
		"no PKCE":                   {spoil: metadata("code_challenge_methods_supported", nil), says: "PKCE"},
		"plain PKCE":                {spoil: metadata("code_challenge_methods_supported", []string{"plain"}), says: "PKCE with S256"},
		"no token endpoint":         {spoil: metadata("token_endpoint", nil), says: "token endpoint"},
		"page at another port":      {spoil: metadata("authorization_endpoint", "http://localhost:1/admin"), says: "no page to sign in on"},
		"no page":                   {spoil: metadata("authorization_endpoint", nil), says: "no page to sign in on"},
		"no registration":           {spoil: metadata("registration_endpoint", nil), says: "oauth.clientId"},
		"registration refused": {spoil: func(a *oauthtest.Server) {
			a.Register = map[string]any{"error": "invalid_redirect_uri", "error_description": "no loopback"}
		}, says: "invalid_redirect_uri: no loopback"},
		"registration unreadable":  {spoil: func(a *oauthtest.Server) { a.Register = map[string]any{"client_id": 5} }, says: "does not answer as it should", not: "of-the-authorization-server"},
		"registration unprintable": {spoil: func(a *oauthtest.Server) { a.Register = map[string]any{"client_id": "a\x00b"} }, says: "not printable"},
		"registration with a proof": {spoil: func(a *oauthtest.Server) {
			a.Register = map[string]any{"token_endpoint_auth_method": "private_key_jwt"}
		}, says: "a proof of the client"},
		"token of another kind":  {spoil: tokenAnswers(map[string]any{"access_token": "abcdefgh", "token_type": "DPoP"}), says: "no bearer token", tries: true},
		"token that is a header": {spoil: tokenAnswers(map[string]any{"access_token": "a\r\nX: y", "token_type": "bearer"}), says: "fits in no header", tries: true},
		"no token":               {spoil: tokenAnswers(map[string]any{}), says: "access_token", tries: true},
		"redirected token request": {spoil: func(a *oauthtest.Server) {
			a.OnToken = func(w http.ResponseWriter, _ url.Values) bool {
				w.Header().Set("Location", a.URL+"/elsewhere")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return true
			}
		}, says: "status 307", tries: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := oauthtest.New(t)
			if test.spoil != nil {
				test.spoil(a)
			}
			s := storetest.SQLite(t)
			_, err := newReplica(t, s).Login(t.Context(), Login{Tenant: tenant, Name: "tools", Server: a.Entry(test.signIn), Show: oauthtest.Browse})
			if err == nil || !strings.Contains(err.Error(), test.says) || test.not != "" && strings.Contains(everything(err), test.not) {
				t.Errorf("got %v", err)
			}
			if strings.Contains(everything(err), "\x1b") {
				t.Error("the terminal would obey the authorization server")
			}
			if (len(a.Grants) > 0) != test.tries {
				t.Errorf("%d token requests", len(a.Grants))
			}
			if rows, err := s.MCPCredentials(t.Context(), tenant); err != nil || len(rows) > 0 {
				t.Errorf("stored %v, %v", rows, err)
			}
		})
	}
}

// answers changes what the browser brings back; an empty value removes a parameter.
func answers(pairs ...string) func(a *oauthtest.Server) {
	return func(a *oauthtest.Server) {
		a.Answer = func(redirect url.Values) {
			for i := 0; i < len(pairs); i += 2 {
				if redirect.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
					redirect.Del(pairs[i])
				}
			}
		}
	}
}

func metadata(field string, value any) func(a *oauthtest.Server) {
	return func(a *oauthtest.Server) { a.Metadata = map[string]any{field: value} }
}

func resources(field string, value any) func(a *oauthtest.Server) {
	return func(a *oauthtest.Server) { a.Resource = map[string]any{field: value} }
}

func tokenAnswers(document map[string]any) func(a *oauthtest.Server) {
	return func(a *oauthtest.Server) {
		a.OnToken = func(w http.ResponseWriter, _ url.Values) bool {
			oauthtest.SendJSON(w, http.StatusOK, document, nil)
			return true
		}
	}
}

// quiet is an authorization server that does not say that its answers name it.
func quiet(a *oauthtest.Server) { metadata("authorization_response_iss_parameter_supported", nil)(a) }

func TestSignInsThatAreTaken(t *testing.T) {
	for name, test := range map[string]struct {
		change func(a *oauthtest.Server)
		signIn func(a *oauthtest.Server) mcp.OAuth
	}{
		"unadvertised issuer":              {change: quiet},
		"no issuer, none announced":        {change: func(a *oauthtest.Server) { quiet(a); answers("iss", "")(a) }},
		"issuer with a slash in the entry": {signIn: func(a *oauthtest.Server) mcp.OAuth { return mcp.OAuth{Issuer: a.URL + "/"} }},
		"no list of servers, but an issuer in the entry": {
			change: resources("authorization_servers", nil), signIn: func(a *oauthtest.Server) mcp.OAuth { return mcp.OAuth{Issuer: a.URL} },
		},
		"tokens for ever": {change: func(a *oauthtest.Server) { a.Lifetime = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			a := oauthtest.New(t)
			if test.change != nil {
				test.change(a)
			}
			server := a.Entry(mcp.OAuth{})
			if test.signIn != nil {
				server = a.Entry(test.signIn(a))
			}
			r := newReplica(t, storetest.SQLite(t))
			r.login(t, server)
			works(t, r.handler(t, server), server)
		})
	}
}

func TestNobodySignsInWhereThatIsNoUse(t *testing.T) {
	a := oauthtest.New(t)
	for says, change := range map[string]func(*Login, *Config){
		"openssl rand -base64 32": func(_ *Login, c *Config) { c.Keys = Keys{} },
		"its entry has no oauth":  func(l *Login, _ *Config) { l.Server.OAuth = nil },
		"with client credentials": func(l *Login, _ *Config) { l.Server.OAuth = &mcp.OAuth{Grant: mcp.GrantClientCredentials} },
		"variable SECRET, which": func(l *Login, c *Config) {
			l.Server.OAuth = &mcp.OAuth{ClientID: "a", ClientSecretEnv: "SECRET"}
			c.Lookup = func(string) (string, bool) { return "", false }
		},
	} {
		l := Login{Tenant: tenant, Name: "tools", Server: a.Entry(mcp.OAuth{}), Show: oauthtest.Browse}
		r := newReplica(t, storetest.SQLite(t), func(c *Config) { change(&l, c) })
		if _, err := r.Login(t.Context(), l); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if len(a.Asked) != 0 {
		t.Error("somebody was asked to sign in")
	}
}

// The configured client comes first, then the metadata document where the authorization server reads such, and a dynamic registration last.
func TestTheOrderOfRegistrations(t *testing.T) {
	const document = "https://signoff.example/client.json"
	for name, test := range map[string]struct {
		change     func(a *oauthtest.Server)
		signIn     func(a *oauthtest.Server) mcp.OAuth
		id, method string
		registered int
	}{
		"configured": {func(a *oauthtest.Server) { metadata("client_id_metadata_document_supported", true)(a) },
			func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{ClientID: "mine"} }, "mine", "none", 0},
		"configured with a secret": {nil,
			func(a *oauthtest.Server) mcp.OAuth {
				return mcp.OAuth{ClientID: "mine", ClientSecretEnv: "SECRET", Issuer: a.URL}
			}, "mine", "client_secret_post", 0},
		"configured for the header": {metadata("token_endpoint_auth_methods_supported", nil),
			func(a *oauthtest.Server) mcp.OAuth {
				return mcp.OAuth{ClientID: "mine", ClientSecretEnv: "SECRET", Issuer: a.URL}
			}, "", "client_secret_basic", 0},
		"document": {func(a *oauthtest.Server) { metadata("client_id_metadata_document_supported", true)(a) },
			func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{ClientMetadata: document} }, document, "none", 0},
		"document that nobody reads": {nil, func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{ClientMetadata: document} }, "registered", "client_secret_post", 1},
		"dynamic":                    {nil, func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{} }, "registered", "client_secret_post", 1},
		"dynamic for the header": {metadata("token_endpoint_auth_methods_supported", []string{"client_secret_basic"}),
			func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{} }, "", "client_secret_basic", 1},
		"dynamic without a secret": {metadata("token_endpoint_auth_methods_supported", []string{"none"}),
			func(*oauthtest.Server) mcp.OAuth { return mcp.OAuth{} }, "registered", "none", 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := oauthtest.New(t)
			if test.change != nil {
				test.change(a)
			}
			server := a.Entry(test.signIn(a))
			r := newReplica(t, storetest.SQLite(t))
			r.login(t, server)
			r.change(t, expire)
			works(t, r.handler(t, server), server)
			if len(a.Clients) != test.registered || !slices.Equal(a.Methods, []string{test.method, test.method}) {
				t.Errorf("%d registrations, proofs %q", len(a.Clients), a.Methods)
			}
			for _, form := range a.Grants {
				if form.Get("client_id") != test.id {
					t.Errorf("the client is %q", form.Get("client_id"))
				}
			}
			if test.registered > 0 && (a.Clients[0]["application_type"] != "native" || !strings.HasPrefix(a.Clients[0]["redirect_uris"].([]any)[0].(string), "http://127.0.0.1:")) {
				t.Errorf("registered as %v", a.Clients[0])
			}
			opened, _, err := r.config.Keys.openTokens(r.row(t))
			if err != nil || (opened.Client.Secret != "") != (test.registered > 0 && test.method != "none") {
				t.Errorf("stored is the client %+v, %v", opened.Client, err)
			}
			if strings.Contains(test.method, "secret") && test.registered == 0 && opened.Client.Secret != "" {
				t.Error("a secret of the environment is stored")
			}
		})
	}
}

// A refresh token is asked for where the authorization server has a scope for it, and only there.
func TestOfflineAccess(t *testing.T) {
	for _, supported := range []bool{false, true} {
		a := oauthtest.New(t)
		if supported {
			a.Metadata = map[string]any{"scopes_supported": []string{"offline_access"}}
		}
		newReplica(t, storetest.SQLite(t)).login(t, a.Entry(mcp.OAuth{Scopes: []string{"mine"}}))
		if got := strings.Fields(a.Asked[0].Get("scope")); slices.Contains(got, "offline_access") != supported || got[0] != "mine" {
			t.Errorf("supported: %v, asked for %q", supported, got)
		}
	}
}

// A server that names no scopes is asked for none: an empty scope would be another question.
func TestNoScopes(t *testing.T) {
	a := oauthtest.New(t)
	resources("scopes_supported", nil)(a)
	newReplica(t, storetest.SQLite(t)).login(t, a.Entry(mcp.OAuth{}))
	if a.Asked[0].Has("scope") {
		t.Errorf("asked for %q", a.Asked[0].Get("scope"))
	}
}

// What comes to the port without the state is not the answer, and does not end the sign-in.
func TestStrangersDoNotEndASignIn(t *testing.T) {
	a := oauthtest.New(t)
	r := newReplica(t, storetest.SQLite(t))
	show := func(address string) error {
		page, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := page.Query().Get("redirect_uri")
		go func() {
			for _, stranger := range []string{back, back + "?code=evil", back + "?code=evil&state=guess", strings.TrimSuffix(back, "/callback") + "/?state=" + page.Query().Get("state")} {
				response, err := a.Server.Client().Get(stranger)
				if err != nil {
					t.Error(err)
					return
				}
				if response.Body.Close(); response.StatusCode != http.StatusNotFound {
					t.Errorf("%s: %d", stranger, response.StatusCode)
				}
			}
			_ = oauthtest.Browse(address)
		}()
		return nil
	}
	server := a.Entry(mcp.OAuth{})
	if _, err := r.Login(t.Context(), Login{Tenant: tenant, Name: "tools", Server: server, Show: show}); err != nil {
		t.Fatal(err)
	}
}

// Where no browser reaches the port, the person pastes the address that the browser was sent to.
func TestPastedAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(answer url.Values) string
		says   string // empty: it works
	}{
		"the whole address": {func(answer url.Values) string { return "\n  http://127.0.0.1:1/callback?" + answer.Encode() + " \n" }, ""},
		"another state": {func(answer url.Values) string {
			answer.Set("state", "x")
			return "http://127.0.0.1:1/callback?" + answer.Encode() + "\n"
		}, "another sign-in"},
		"another issuer": {func(answer url.Values) string {
			answer.Set("iss", "https://evil.example")
			return "http://a/?" + answer.Encode() + "\n"
		}, "is not used"},
		"the code alone": {func(answer url.Values) string { return answer.Get("code") + "\n" }, "not the address"},
		"nothing":        {func(url.Values) string { return "" }, "no address was pasted"},
	} {
		t.Run(name, func(t *testing.T) {
			a := oauthtest.New(t)
			r := newReplica(t, storetest.SQLite(t))
			pasted, paste := io.Pipe()
			show := func(address string) error {
				back, err := oauthtest.Consent(address)
				if err != nil {
					return err
				}
				go func() {
					_, _ = io.WriteString(paste, test.change(back.Query()))
					paste.Close()
				}()
				return nil
			}
			server := a.Entry(mcp.OAuth{})
			_, err := r.Login(t.Context(), Login{Tenant: tenant, Name: "tools", Server: server, Show: show, Pasted: pasted})
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || len(a.Grants) > 0 {
					t.Errorf("%v, %d token requests", err, len(a.Grants))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			works(t, r.handler(t, server), server)
		})
	}
}

func TestNobodyComesBack(t *testing.T) {
	a := oauthtest.New(t)
	r := newReplica(t, storetest.SQLite(t))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := r.Login(ctx, Login{Tenant: tenant, Name: "tools", Server: a.Entry(mcp.OAuth{}), Show: func(string) error { cancel(); return nil }})
	if err == nil || !strings.Contains(err.Error(), "nobody has signed in") {
		t.Error(err)
	}
}

func TestCovers(t *testing.T) {
	for resource, want := range map[string]bool{
		"https://a.example/x/mcp": true, "https://a.example/x/mcp/": true, "https://a.example/x": true, "https://a.example": true, "https://a.example/": true,
		"https://A.EXAMPLE/x/mcp": true, "HTTPS://a.example/x": true,
		"https://a.example/x/mcp/more": false, "https://a.example/x/mc": false, "http://a.example/x/mcp": false, "https://b.example/x/mcp": false,
		"https://a.example:444/x/mcp": false, "https://a.example.evil/x/mcp": false, "https://a.example/x/mcp#f": false, "https://me@a.example/x/mcp": false, "": false,
	} {
		if got := covers(resource, "https://a.example/x/mcp"); got != want {
			t.Errorf("%q: %v", resource, got)
		}
	}
}

// Errors go to logs, events and terminals. An authorization server that quotes what it was sent must not bring a secret there.
func TestNoErrorHoldsASecret(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, form url.Values){
		"body": func(w http.ResponseWriter, form url.Values) { http.Error(w, form.Encode(), http.StatusBadRequest) },
		"description": func(w http.ResponseWriter, form url.Values) {
			oauthtest.SendJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": form.Encode()}, nil)
		},
		"code": func(w http.ResponseWriter, form url.Values) {
			oauthtest.SendJSON(w, http.StatusBadRequest, map[string]any{"error": "you sent " + form.Encode()}, nil)
		},
		"form": func(w http.ResponseWriter, form url.Values) {
			w.Header().Set("Content-Type", "application/x-www-form-urlencoded")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, form.Encode())
		},
		"half": func(w http.ResponseWriter, form url.Values) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(form.Encode())
		},
		"redirect": func(w http.ResponseWriter, form url.Values) {
			w.Header().Set("Location", "/?"+form.Encode())
			w.WriteHeader(http.StatusSeeOther)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := oauthtest.New(t)
			server := a.Entry(mcp.OAuth{})
			r := newReplica(t, storetest.SQLite(t))
			r.login(t, server)
			a.Change(func() { a.OnToken = func(w http.ResponseWriter, form url.Values) bool { answer(w, form); return true } })
			r.change(t, expire)
			err := call(t.Context(), r.handler(t, server), server)
			if err == nil {
				t.Fatal("it was renewed")
			}
			for _, secret := range a.Secrets {
				if strings.Contains(everything(err), secret) {
					t.Errorf("the error holds %s: %s", secret, everything(err))
				}
			}
		})
	}
}

// client credentials need no sign-in, and no key to store anything.
func TestClientCredentials(t *testing.T) {
	a := oauthtest.New(t)
	server := a.Entry(mcp.OAuth{Grant: mcp.GrantClientCredentials, ClientID: "mine", ClientSecretEnv: "SECRET", Issuer: a.URL})
	r := newReplica(t, nil, func(c *Config) { c.Keys = Keys{} })
	h := r.handler(t, server)
	for range 3 {
		works(t, h, server)
		works(t, r.handler(t, server), server)
	}
	requests := func(want int) url.Values {
		t.Helper()
		all := a.TokenRequests("client_credentials")
		if len(all) != want {
			t.Fatalf("%d token requests, not %d", len(all), want)
		}
		return all[want-1]
	}
	if form := requests(1); form.Get("resource") != server.URL || form.Get("scope") != "tools" || form.Get("client_secret") != "value-of-SECRET" {
		t.Error(form)
	}
	if !slices.Contains(r.learned, a.Secrets[0]) {
		t.Error("the token is not known to the masker")
	}

	g := r.grant(tenant, "tools", server)
	g.tokens.Issued, g.tokens.Expires = time.Now().Add(-time.Hour), time.Now().Add(time.Second)
	works(t, h, server)
	requests(2)
	a.Change(func() { a.Needs = "write" })
	works(t, h, server)
	if form := requests(3); form.Get("scope") != "write tools" {
		t.Errorf("asked for %q", form.Get("scope"))
	}
	a.Change(func() { a.Access[g.tokens.Access] = "tools" }) // the scope is granted in words alone
	for range 2 {
		refuses(t, h, server, "lacks write")
	}
	requests(3)
	a.Change(func() { a.Needs = "" })

	a.Revoke(true)
	works(t, h, server)
	requests(4)
	a.Revoke(true)
	for range 2 {
		refuses(t, h, server, "has just made")
	}
	requests(4)

	g.tokens = tokens{}
	tokenAnswers(map[string]any{"error": "invalid_client", "error_description": "value-of-SECRET"})(a)
	refuses(t, h, server, "answers invalid_client")
	requests(5)
}

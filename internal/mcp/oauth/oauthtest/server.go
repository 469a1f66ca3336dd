// Package oauthtest is an authorization server for tests, and beside it the MCP server that it protects. It holds a client to all that the
// specifications ask of it, and it can be told to misbehave.
package oauthtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signoff/internal/mcp"
)

// Server is an authorization server. The first fields change how it behaves, and are set before it is used or within [Server.Change]; the others
// tell what it was asked, and are read when nothing is under way.
type Server struct {
	*httptest.Server
	Tools *httptest.Server // the MCP server

	Metadata  map[string]any                                    // fields of its metadata to replace; nil removes one
	Resource  map[string]any                                    // likewise of the metadata of the MCP server
	Register  map[string]any                                    // likewise of a registration; with an error it is refused
	Answer    func(redirect url.Values)                         // changes what the browser brings back
	OnToken   func(w http.ResponseWriter, form url.Values) bool // sees a token request first; true: it has answered
	Lifetime  int                                               // of an access token in seconds; 0: it does not say
	NoRefresh bool                                              // it gives no refresh tokens
	Challenge string                                            // of the MCP server, behind the place of its metadata
	Needs     string                                            // the scope that the MCP server asks for

	Asked   []url.Values      // authorization requests
	Grants  []url.Values      // token requests
	Methods []string          // how the client proved itself in each
	Clients []map[string]any  // registrations
	Secrets []string          // codes, tokens and client secrets that it has made
	Access  map[string]string // token → its scopes

	lock    sync.Mutex
	codes   map[string]url.Values // code → authorization request
	refresh map[string]string     // token that is good once → its scopes
	counter int
}

// New starts both servers, which end with the test.
func New(t testing.TB) *Server {
	t.Helper()
	a := &Server{Lifetime: 3600, codes: map[string]url.Values{}, Access: map[string]string{}, refresh: map[string]string{}}
	handle := http.NewServeMux()
	handle.HandleFunc("GET /.well-known/oauth-authorization-server", a.serveMetadata)
	handle.HandleFunc("GET /authorize", a.serveAuthorize)
	handle.HandleFunc("POST /token", a.serveToken)
	handle.HandleFunc("POST /register", a.serveRegister)
	a.Server = httptest.NewServer(handle)
	t.Cleanup(a.Server.Close)
	tools := http.NewServeMux()
	tools.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", a.serveResource)
	tools.HandleFunc("POST /mcp", a.serveTools)
	a.Tools = httptest.NewServer(tools)
	t.Cleanup(a.Tools.Close)
	return a
}

// Browse is a browser with a person in it: it follows the address to the authorization server and back.
func Browse(address string) error {
	go func() {
		if response, err := (&http.Client{Timeout: time.Minute}).Get(address); err == nil {
			response.Body.Close()
		}
	}()
	return nil
}

// Consent signs in on the page at the address, and returns where the browser is sent to, without going there.
func Consent(address string) (*url.URL, error) {
	stays := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := stays.Get(address)
	if err != nil {
		return nil, err
	}
	response.Body.Close()
	return response.Location()
}

// Entry is the entry of the MCP server.
func (a *Server) Entry(signIn mcp.OAuth) mcp.Server {
	if signIn.Grant == "" {
		signIn.Grant = mcp.GrantAuthorizationCode
	}
	return mcp.Server{URL: a.Tools.URL + "/mcp", OAuth: &signIn}
}

// SendJSON answers with a document, after the changes: a field that is nil is removed.
func SendJSON(w http.ResponseWriter, status int, document, changes map[string]any) {
	for field, value := range changes {
		if document[field] = value; value == nil {
			delete(document, field)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}

func (a *Server) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	SendJSON(w, http.StatusOK, map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token", "registration_endpoint": a.URL + "/register",
		"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported": []string{"client_secret_post", "client_secret_basic", "none"},
	}, a.Metadata)
}

func (a *Server) serveResource(w http.ResponseWriter, _ *http.Request) {
	SendJSON(w, http.StatusOK, map[string]any{
		"resource": a.Tools.URL + "/mcp", "authorization_servers": []string{a.URL}, "scopes_supported": []string{"tools"},
	}, a.Resource)
}

// make returns a new secret.
func (a *Server) make(kind string) string {
	a.counter++
	secret := fmt.Sprintf("%s-%d-of-the-authorization-server", kind, a.counter)
	a.Secrets = append(a.Secrets, secret)
	return secret
}

func (a *Server) serveRegister(w http.ResponseWriter, request *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	var wanted map[string]any
	_ = json.NewDecoder(request.Body).Decode(&wanted)
	a.Clients = append(a.Clients, wanted)
	made := map[string]any{"client_id": "registered", "token_endpoint_auth_method": wanted["token_endpoint_auth_method"]}
	if wanted["token_endpoint_auth_method"] != "none" {
		made["client_secret"] = a.make("client")
	}
	status := http.StatusCreated
	if a.Register["error"] != nil {
		status = http.StatusBadRequest
	}
	SendJSON(w, status, made, a.Register)
}

func (a *Server) serveAuthorize(w http.ResponseWriter, request *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	asked := request.URL.Query()
	a.Asked = append(a.Asked, asked)
	code := a.make("code")
	a.codes[code] = asked
	redirect := url.Values{"code": {code}, "state": {asked.Get("state")}, "iss": {a.URL}}
	if a.Answer != nil {
		a.Answer(redirect)
	}
	http.Redirect(w, request, asked.Get("redirect_uri")+"?"+redirect.Encode(), http.StatusFound)
}

// serveToken holds the client to all that the specifications ask of it.
func (a *Server) serveToken(w http.ResponseWriter, request *http.Request) {
	_ = request.ParseForm()
	form := request.PostForm
	a.lock.Lock()
	a.Grants = append(a.Grants, form)
	method := "none"
	if _, _, basic := request.BasicAuth(); basic {
		method = "client_secret_basic"
	} else if form.Get("client_secret") != "" {
		method = "client_secret_post"
	}
	a.Methods = append(a.Methods, method)
	hook := a.OnToken
	a.lock.Unlock()
	if hook != nil && hook(w, form) {
		return
	}
	a.lock.Lock()
	defer a.lock.Unlock()
	if form.Get("resource") != a.Tools.URL+"/mcp" {
		SendJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_target"}, nil)
		return
	}
	scopes, good := form.Get("scope"), false
	switch form.Get("grant_type") {
	case "authorization_code":
		asked := a.codes[form.Get("code")]
		delete(a.codes, form.Get("code"))
		hash := sha256.Sum256([]byte(form.Get("code_verifier")))
		scopes, good = asked.Get("scope"), asked != nil && asked.Get("code_challenge_method") == "S256" &&
			asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(hash[:]) && asked.Get("redirect_uri") == form.Get("redirect_uri") &&
			asked.Get("resource") == form.Get("resource")
	case "refresh_token":
		scopes, good = a.refresh[form.Get("refresh_token")], a.refresh[form.Get("refresh_token")] != ""
		if delete(a.refresh, form.Get("refresh_token")); !good {
			clear(a.refresh) // a token that comes twice was stolen
			clear(a.Access)
		}
	case "client_credentials":
		good = true
	}
	if !good {
		SendJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": "not " + form.Encode()}, nil)
		return
	}
	if scopes == "" {
		scopes = " "
	}
	access := a.make("access")
	a.Access[access] = scopes
	made := map[string]any{"access_token": access, "token_type": "bearer"}
	if a.Lifetime > 0 {
		made["expires_in"] = a.Lifetime
	}
	if form.Get("grant_type") != "client_credentials" && !a.NoRefresh {
		refresh := a.make("refresh")
		a.refresh[refresh] = scopes
		made["refresh_token"] = refresh
	}
	SendJSON(w, http.StatusOK, made, nil)
}

func (a *Server) serveTools(w http.ResponseWriter, request *http.Request) {
	a.lock.Lock()
	defer a.lock.Unlock()
	scopes, good := a.Access[strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")]
	place := `Bearer resource_metadata="` + a.Tools.URL + `/.well-known/oauth-protected-resource/mcp"`
	switch {
	case !good:
		w.Header().Set("WWW-Authenticate", place+a.Challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case a.Needs != "" && !slices.Contains(strings.Fields(scopes), a.Needs):
		w.Header().Set("WWW-Authenticate", place+`, error="insufficient_scope", scope="`+a.Needs+`"`)
		w.WriteHeader(http.StatusForbidden)
	default:
		SendJSON(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{}}, nil)
	}
}

// TokenRequests are those of one grant.
func (a *Server) TokenRequests(grant string) (all []url.Values) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, form := range a.Grants {
		if form.Get("grant_type") == grant {
			all = append(all, form)
		}
	}
	return all
}

// Revoke ends all access tokens, and also the refresh tokens where whole.
func (a *Server) Revoke(whole bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	clear(a.Access)
	if whole {
		clear(a.refresh)
	}
}

// Change changes how the server behaves.
func (a *Server) Change(do func()) {
	a.lock.Lock()
	defer a.lock.Unlock()
	do()
}

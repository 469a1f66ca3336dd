package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/mcp/oauth"
	"signoff/internal/store"
)

// user is an execution that uses the server of the kit, and the operator who signs in there.
type user struct {
	folder      string
	server      mcp.Server
	store       *store.Store
	credentials *oauth.Credentials
	manager     *mcp.Manager
	session     *mcp.Session
}

// metadata is the document that a client id of the kit points at. Nobody reads it.
const metadata = "https://conformance-test.local/client-metadata.json"

func newUser(ctx context.Context, address string) (u *user, err error) {
	u = &user{}
	defer func() {
		if err != nil {
			err = errors.Join(err, u.close())
		}
	}()
	if u.folder, err = os.MkdirTemp("", "signoff-conformance-"); err != nil {
		return u, err
	}
	if u.store, err = store.Open(ctx, store.Config{Path: filepath.Join(u.folder, "signoff.db")}); err != nil {
		return u, err
	}
	if err := u.store.Migrate(ctx); err != nil {
		return u, err
	}
	given, err := contextOfKit()
	if err != nil {
		return u, err
	}
	keys, err := oauth.ParseKeys(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		return u, err
	}
	u.server = mcp.Server{URL: address, Required: true, OAuth: given.oauth()}
	if u.server.OAuth != nil && u.server.OAuth.ClientSecretEnv != "" {
		if u.server.OAuth.Issuer, err = issuerOf(ctx, address); err != nil {
			return u, err
		}
	}
	lookup := func(string) (string, bool) { return given.ClientSecret, given.ClientSecret != "" }
	catalog, err := mcp.NewCatalog(map[string]mcp.Server{name: u.server}, lookup)
	if err != nil {
		return u, err
	}
	servers, err := catalog.Choose(domain.DefaultTenant, []string{name})
	if err != nil {
		return u, err
	}
	u.server = servers[name]
	u.credentials = oauth.NewCredentials(oauth.Config{Rows: u.store, Keys: keys, HTTP: mcp.HTTPClient, Lookup: lookup, Learn: func(string, ...string) {}})
	u.manager = mcp.NewManager(mcp.ManagerConfig{Catalog: catalog, Credentials: u.credentials, Version: "conformance"})
	return u, u.open()
}

// open begins an execution: an operator who has signed in starts another one, and does not wait until the first one tries again.
func (u *user) open() (err error) {
	if u.session != nil {
		if err := u.session.Close(); err != nil {
			return err
		}
	}
	u.session, err = u.manager.Open(mcp.Use{Tenant: domain.DefaultTenant, Execution: "conformance"}, []string{name}, func(news domain.AgentMCPServerUpdated) {
		fmt.Fprintln(os.Stderr, news.Server, news.Status, news.Message)
	})
	return err
}

func (u *user) close() (err error) {
	if u.session != nil {
		err = u.session.Close()
	}
	if u.credentials != nil {
		u.credentials.Close()
	}
	if u.store != nil {
		err = errors.Join(err, u.store.Close())
	}
	return errors.Join(err, os.RemoveAll(u.folder)) //nolint:gosec // the folder that newUser has made
}

// kitContext is what the kit tells a client beside the address, as an operator would be told it.
type kitContext struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

func contextOfKit() (given kitContext, err error) {
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		err = json.Unmarshal([]byte(text), &given)
	}
	return given, err
}

// oauth is how the operator's entry of the server says that one signs in.
func (given kitContext) oauth() *mcp.OAuth {
	if !strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		return nil
	}
	signIn := &mcp.OAuth{ClientMetadata: metadata}
	if given.ClientID != "" {
		signIn = &mcp.OAuth{ClientID: given.ClientID, ClientSecretEnv: "CLIENT_SECRET"}
	}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/client-credentials-") {
		signIn.Grant = mcp.GrantClientCredentials
	}
	return signIn
}

// issuerOf is where the operator has registered the client whose secret the kit hands out. The kit says it nowhere but in the metadata of its server.
func issuerOf(ctx context.Context, server string) (string, error) {
	at, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	at.Path = "/.well-known/oauth-protected-resource" + at.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil) //nolint:gosec // the address is the kit's
	if err != nil {
		return "", err
	}
	response, err := browser.Do(request) //nolint:gosec // as above
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var document struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil || len(document.Servers) == 0 {
		return "", fmt.Errorf("the server of the kit names no authorization server: %w", err)
	}
	return document.Servers[0], nil
}

// browser is where the operator looks things up and signs in.
var browser = &http.Client{Timeout: 15 * time.Second}

// signIns is how often an operator signs in for one use of a server before giving up.
const signIns = 3

// signsIn uses a server that wants a sign-in. Where the server refuses, the operator signs in as the error says, and the use is tried again.
func signsIn(ctx context.Context, u *user) error {
	for range signIns {
		err := u.usesTools(ctx)
		var refused *domain.Error
		if !errors.As(err, &refused) || u.server.OAuth.Grant == mcp.GrantClientCredentials {
			return err
		}
		fmt.Fprintln(os.Stderr, refused.Message)
		if err := errors.Join(u.signIn(ctx, refused.Message), u.open()); err != nil {
			return err
		}
	}
	return u.usesTools(ctx)
}

// usesTools calls each tool, as far as it is let.
func (u *user) usesTools(ctx context.Context) error {
	tools, err := u.session.Tools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := u.call(ctx, tool.Tool, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	return nil
}

// scopesOf finds the scopes in the command that an error tells the operator to type.
var scopesOf = regexp.MustCompile("signoff mcp login [^`]*--scopes ([^` ]+)")

// signIn is what `signoff mcp login` does, with a browser in which nothing has to be typed.
func (u *user) signIn(ctx context.Context, said string) error {
	login := oauth.Login{Tenant: domain.DefaultTenant, Name: name, Server: u.server}
	if found := scopesOf.FindStringSubmatch(said); found != nil {
		login.Scopes = strings.Split(found[1], ",")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	login.Show = func(address string) error {
		go func() {
			if err := browse(ctx, address); err != nil {
				cancel(err)
			}
		}()
		return nil
	}
	_, err := u.credentials.Login(ctx, login)
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(err, cause)
	}
	return err
}

// browse opens an address and goes where it is sent: to the port where Signoff waits.
func browse(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := browser.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(response.Body)
		return fmt.Errorf("the browser shows %s: %s", response.Status, content)
	}
	return nil
}

// agrees is the answer of a person who says yes to everything, and leaves the defaults of a form as they are.
func agrees(form json.RawMessage) (answer domain.Answer, err error) {
	var asked struct {
		Schema schema `json:"schema"`
	}
	if err := json.Unmarshal(form, &asked); err != nil {
		return answer, err
	}
	content, err := json.Marshal(asked.Schema.filled())
	return domain.Answer{Status: domain.ApprovalApproved, Content: content}, err
}

// schema is that of a form.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Default    json.RawMessage   `json:"default"`
}

// filled is an object with yes for each question that has no default.
func (s schema) filled() map[string]any {
	all := map[string]any{}
	for name, property := range s.Properties {
		switch {
		case property.Type == "object":
			all[name] = property.filled()
		case property.Type == "boolean" && property.Default == nil:
			all[name] = true
		}
	}
	return all
}

package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// loginTime is how long a person has.
const loginTime = 10 * time.Minute

// Login is a sign-in of a person.
type Login struct {
	Tenant domain.TenantID
	Name   string // of the entry
	Server mcp.Server
	Scopes []string // besides those of the entry, the server, and the sign-in before
	Port   int      // that the browser comes back to; 0: any that is free

	// Show shows the person the address to open.
	Show func(address string) error
	// Pasted is where the person may paste the address that the browser was sent to; nil: nowhere.
	Pasted io.Reader
}

// Login signs a person in, and replaces the tenant's sign-in at that server. Running servers use the new one within seconds.
func (c *Credentials) Login(ctx context.Context, l Login) (SignIn, error) {
	if err := c.mayLogin(l); err != nil {
		return SignIn{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	through := c.config.HTTP(l.Server)
	challenges, err := challenge(ctx, through, l.Server)
	if err != nil {
		return SignIn{}, err
	}
	from, err := discover(ctx, through, l.Server, challenges)
	if err != nil {
		return SignIn{}, err
	}
	if from.at.AuthorizationEndpoint == "" || !trusted(from.at.AuthorizationEndpoint, l.Server) {
		return SignIn{}, errors.New("the authorization server names no page to sign in on that a browser may be sent to")
	}
	got, err := c.authorize(ctx, through, l, from)
	if err != nil {
		return SignIn{}, err
	}
	return c.keep(ctx, l, from, got)
}

func (c *Credentials) mayLogin(l Login) error {
	switch {
	case l.Server.OAuth == nil:
		return fmt.Errorf("MCP server %q needs no sign-in: its entry has no oauth", l.Name)
	case l.Server.OAuth.Grant == mcp.GrantClientCredentials:
		return fmt.Errorf("MCP server %q needs no sign-in of a person: Signoff signs in by itself, with client credentials", l.Name)
	case !c.config.Keys.Usable():
		return errors.New("there is no SIGNOFF_ENCRYPTION_KEY, so tokens cannot be stored: " + MakeKey + ", and give it to this command and to every server")
	}
	return nil
}

// authorize sends the person to the authorization server, and exchanges the code that comes back for tokens.
func (c *Credentials) authorize(ctx context.Context, through *http.Client, l Login, from source) (tokens, error) {
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	answers, err := receive(ctx, l.Port, state)
	if err != nil {
		return tokens{}, err
	}
	defer answers.listener.Close()
	by, err := c.register(ctx, through, l.Server, from.at, answers.address())
	if err != nil {
		return tokens{}, err
	}
	c.learn(l.Tenant, l.Name, tokens{Client: by})
	scopes, err := c.loginScopes(ctx, l, from)
	if err != nil {
		return tokens{}, err
	}
	page := oauth2.Config{ClientID: by.ID, Endpoint: oauth2.Endpoint{AuthURL: from.at.AuthorizationEndpoint}, RedirectURL: answers.address(), Scopes: scopes}
	address := page.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", from.resource))
	if err := l.Show(address); err != nil {
		return tokens{}, err
	}
	answer, err := answers.await(ctx, l.Pasted)
	if err != nil {
		return tokens{}, err
	}
	code, err := codeOf(answer, from.at)
	if err != nil {
		return tokens{}, err
	}
	token, err := by.token(ctx, through, from.at.TokenEndpoint, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {answers.address()}, "resource": {from.resource},
	})
	if err != nil {
		return tokens{}, fmt.Errorf("no tokens for the sign-in: %w", described(err))
	}
	return granted(token, scopes, by), nil
}

// loginScopes are what the person is asked to grant: also what was granted before, so that a scope that is added takes none away.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#step-up-authorization-flow
func (c *Credentials) loginScopes(ctx context.Context, l Login, from source) ([]string, error) {
	scopes := slices.Concat(from.scopes, l.Scopes)
	rows, err := c.config.Rows.MCPCredentialsOf(ctx, l.Tenant, l.Name)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if before, _, err := c.config.Keys.openTokens(row); err == nil && row.Issuer == from.at.Issuer && row.Resource == from.resource {
			scopes = append(scopes, before.Scopes...)
		}
	}
	if slices.Contains(from.at.ScopesSupported, "offline_access") { // without it, some authorization servers give no refresh token
		scopes = append(scopes, "offline_access")
	}
	return properScopes(scopes), nil
}

// codeOf checks where an answer comes from before it believes anything in it, also an error.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation
func codeOf(answer url.Values, at *oauthex.AuthServerMeta) (string, error) {
	switch issuer := answer.Get("iss"); {
	case issuer == "" && at.AuthorizationResponseIssParameterSupported:
		return "", errors.New("the answer does not say which authorization server it comes from, so it is not used")
	case issuer != "" && issuer != at.Issuer:
		return "", fmt.Errorf("the answer comes from %s, and not from the authorization server %s, so it is not used", printable(issuer), at.Issuer)
	}
	if code := answer.Get("error"); code != "" {
		if !codeForm.MatchString(code) {
			code = "an error"
		}
		return "", described(&refusal{code, printable(answer.Get("error_description"))})
	}
	if answer.Get("code") == "" {
		return "", errors.New("the answer of the authorization server has no code")
	}
	return answer.Get("code"), nil
}

// described adds the words of the authorization server, which are for the person in front of the terminal alone.
func described(err error) error {
	var no *refusal
	if errors.As(err, &no) && no.description != "" {
		return fmt.Errorf("%w: %s", err, no.description)
	}
	return err
}

// keep stores what a sign-in has brought.
func (c *Credentials) keep(ctx context.Context, l Login, from source, got tokens) (SignIn, error) {
	c.learn(l.Tenant, l.Name, got)
	if !got.Client.Dynamic {
		got.Client.Secret = "" // it is in the environment, where it may change
	}
	key := domain.MCPCredentialKey{Tenant: l.Tenant, Server: l.Name, Issuer: from.at.Issuer, Resource: from.resource, ClientID: got.Client.ID}
	sealed, err := c.config.Keys.sealTokens(key, got)
	if err != nil {
		return SignIn{}, err
	}
	row := domain.MCPCredential{MCPCredentialKey: key, Sealed: sealed}
	if err := c.config.Rows.SaveMCPCredential(ctx, row, audit.SignIn("mcp.signedIn", key)); err != nil {
		return SignIn{}, err
	}
	return signInOf(row, got, false), nil
}

// Logout forgets the tenant's sign-in at a server. It does not tell the authorization server.
func (c *Credentials) Logout(ctx context.Context, tenant domain.TenantID, name string) error {
	key := domain.MCPCredentialKey{Tenant: tenant, Server: name}
	return c.config.Rows.DeleteMCPCredentials(ctx, tenant, name, audit.SignIn("mcp.signedOut", key))
}

// SignIn is what may be shown of a sign-in.
type SignIn struct {
	domain.MCPCredential
	Scopes   []string
	Expires  time.Time // of the access token; zero: nobody says
	Renewed  bool      // it has a refresh token
	OlderKey bool      // not the first key encrypts it: it is encrypted anew when it is renewed
	Locked   bool      // no key opens it, and the fields above say nothing
}

func signInOf(row domain.MCPCredential, t tokens, older bool) SignIn {
	return SignIn{MCPCredential: row, Scopes: t.Scopes, Expires: t.Expires, Renewed: t.Refresh != "", OlderKey: older}
}

// List shows the sign-ins of a tenant.
func (c *Credentials) List(ctx context.Context, tenant domain.TenantID) ([]SignIn, error) {
	rows, err := c.config.Rows.MCPCredentials(ctx, tenant)
	if err != nil {
		return nil, err
	}
	all := make([]SignIn, len(rows))
	for i, row := range rows {
		opened, older, err := c.config.Keys.openTokens(row)
		if err != nil {
			all[i] = SignIn{MCPCredential: row, Locked: true}
			continue
		}
		all[i] = signInOf(row, opened, older)
	}
	return all, nil
}

// State says in a word or two how a sign-in is.
func (s SignIn) State(now time.Time) string {
	over := !s.Expires.IsZero() && now.After(s.Expires)
	switch {
	case s.Locked:
		return "no key opens it"
	case s.Refused != nil && over:
		return "sign in again"
	case over && !s.Renewed:
		return "expired"
	case s.OlderKey:
		return "good, under an older key"
	default:
		return "good"
	}
}

package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"signoff/internal/mcp"
)

const (
	stepTimeout   = 15 * time.Second // for one request of a sign-in
	documentBytes = 1 << 20
)

// source is where the tokens of a server come from.
type source struct {
	resource string // that they are for
	scopes   []string
	at       *oauthex.AuthServerMeta
}

// discover finds the authorization server of an MCP server.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
func discover(ctx context.Context, through *http.Client, server mcp.Server, challenges []oauthex.Challenge) (source, error) {
	document, err := protectedResource(ctx, through, server, param(challenges, "resource_metadata"))
	if err != nil {
		return source{}, err
	}
	issuer, err := chooseIssuer(document.AuthorizationServers, server.OAuth.Issuer)
	if err != nil {
		return source{}, err
	}
	at, err := authorizationServer(ctx, through, issuer)
	if err != nil {
		return source{}, err
	}
	return source{document.Resource, slices.Clone(wantedScopes(server, challenges, document)), at}, nil
}

// wantedScopes are those of the operator, else those of the challenge, else all that the server has.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#scope-selection-strategy
func wantedScopes(server mcp.Server, challenges []oauthex.Challenge, document oauthex.ProtectedResourceMetadata) []string {
	if len(server.OAuth.Scopes) > 0 {
		return server.OAuth.Scopes
	}
	if scopes := scopesIn(challenges); len(scopes) > 0 {
		return scopes
	}
	return properScopes(document.ScopesSupported)
}

// challenge asks the server for something without a token, and returns what it says of tokens. Many servers guard their tools, and not the handshake.
func challenge(ctx context.Context, through *http.Client, server mcp.Server) ([]oauthex.Challenge, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	request.Header.Set("Mcp-Method", "tools/list")
	response, err := through.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the MCP server does not answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
		return nil, nil
	}
	return challengesOf(response), nil
}

// challengesOf reads what a response says of tokens. A header that cannot be read says nothing.
func challengesOf(response *http.Response) []oauthex.Challenge {
	challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(challenges, func(c oauthex.Challenge) bool { return c.Scheme != "bearer" })
}

func param(challenges []oauthex.Challenge, name string) string {
	for _, c := range challenges {
		if value := c.Params[name]; value != "" {
			return value
		}
	}
	return ""
}

func scopesIn(challenges []oauthex.Challenge) []string {
	return properScopes(strings.Fields(param(challenges, "scope")))
}

// maxScopes bounds what a server may make Signoff ask for.
const maxScopes = 100

// properScopes leaves out what cannot be a scope: RFC 6749, section 3.3.
func properScopes(scopes []string) (proper []string) {
	for _, scope := range scopes {
		wrong := strings.ContainsFunc(scope, func(r rune) bool { return r <= 0x20 || r > 0x7e || r == '"' || r == '\\' })
		if scope != "" && len(scope) <= 200 && !wrong && !slices.Contains(proper, scope) && len(proper) < maxScopes {
			proper = append(proper, scope)
		}
	}
	return proper
}

// protectedResource reads the metadata of the server, RFC 9728: where its challenge says, and otherwise at the well-known places. Where a server has
// none, the operator's issuer says enough.
func protectedResource(ctx context.Context, through *http.Client, server mcp.Server, named string) (document oauthex.ProtectedResourceMetadata, err error) {
	address, err := url.Parse(server.URL)
	if err != nil {
		return document, err
	}
	places := []string{named}
	if named == "" {
		root := url.URL{Scheme: address.Scheme, Host: address.Host, Path: "/.well-known/oauth-protected-resource"}
		places = []string{root.JoinPath(address.Path).String(), root.String()}
	}
	for _, place := range slices.Compact(places) {
		if !trusted(place, server) {
			return document, fmt.Errorf("the MCP server names %s for its metadata, which is not https", printable(place))
		}
		found, err := getJSON(ctx, through, place, &document)
		switch {
		case err != nil:
			return document, fmt.Errorf("the resource metadata of the MCP server: %w", err)
		case !found:
			continue
		case !covers(document.Resource, server.URL):
			return document, fmt.Errorf("the resource metadata of the MCP server is for %s, which is not its address", printable(document.Resource))
		case len(document.AuthorizationServers) == 0 && server.OAuth.Issuer == "":
			return document, errors.New("the resource metadata of the MCP server names no authorization server; set oauth.issuer in its entry")
		}
		return document, nil
	}
	if server.OAuth.Issuer == "" {
		return document, errors.New("the MCP server does not say who signs in to it: it has no resource metadata (RFC 9728). Set oauth.issuer in its entry")
	}
	return oauthex.ProtectedResourceMetadata{Resource: server.URL}, nil
}

// covers reports whether tokens for the resource are meant for the address: they have the same origin, and the address lies at or below the resource.
// Tokens for something else must never be sent there.
func covers(resource, address string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.User != nil || r.RawQuery != "" || r.Fragment != "" {
		return resource == address
	}
	a, err := url.Parse(address)
	if err != nil || !strings.EqualFold(r.Scheme, a.Scheme) || !strings.EqualFold(r.Host, a.Host) {
		return false
	}
	below := strings.TrimSuffix(r.EscapedPath(), "/")
	return strings.TrimSuffix(a.EscapedPath(), "/") == below || strings.HasPrefix(a.EscapedPath(), below+"/")
}

// trusted reports whether an address that a stranger names may be used: by https, or at the host that the operator has configured.
func trusted(address string, server mcp.Server) bool {
	named, err := url.Parse(address)
	if err != nil || named.Host == "" || named.User != nil {
		return false
	}
	configured, err := url.Parse(server.URL)
	return named.Scheme == "https" || err == nil && named.Scheme == "http" && strings.EqualFold(named.Hostname(), configured.Hostname())
}

// chooseIssuer takes the operator's authorization server, else the first that the MCP server names. Credentials of one are never sent to another.
func chooseIssuer(named []string, configured string) (string, error) {
	if configured == "" {
		return named[0], nil
	}
	if i := slices.IndexFunc(named, func(issuer string) bool { return sameIssuer(issuer, configured) }); i >= 0 {
		return named[i], nil
	}
	if len(named) > 0 {
		return "", fmt.Errorf("the MCP server names the authorization server %s, and not the one of oauth.issuer in its entry", printable(named[0]))
	}
	return configured, nil
}

// sameIssuer compares what people write: a slash at the end makes no other server.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// authorizationServer reads the metadata of an authorization server, RFC 8414. It must know PKCE with S256.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#authorization-code-protection
func authorizationServer(ctx context.Context, through *http.Client, issuer string) (*oauthex.AuthServerMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	at, err := auth.GetAuthServerMetadata(ctx, issuer, through)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the authorization server %s: %w", printable(issuer), err)
	case at == nil:
		return nil, fmt.Errorf("the authorization server %s has no metadata (RFC 8414)", printable(issuer))
	case !slices.Contains(at.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("the authorization server %s does not know PKCE with S256", printable(issuer))
	case at.TokenEndpoint == "":
		return nil, fmt.Errorf("the authorization server %s names no token endpoint", printable(issuer))
	}
	return at, nil
}

// getJSON reads a document. found is false where there is none.
func getJSON(ctx context.Context, through *http.Client, address string, into any) (found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || request.URL.Scheme != "http" && request.URL.Scheme != "https" {
		return false, errors.New("its address is no http or https address")
	}
	request.Header.Set("Accept", "application/json")
	response, err := through.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, documentBytes+1))
	switch {
	case 400 <= response.StatusCode && response.StatusCode < 500:
		return false, nil
	case response.StatusCode != http.StatusOK:
		return false, fmt.Errorf("the answer has status %d", response.StatusCode)
	case err != nil:
		return false, err
	case len(content) > documentBytes:
		return false, fmt.Errorf("it is larger than %d bytes", documentBytes)
	}
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(into); err != nil {
		return false, errors.New("it is no JSON of the right form")
	}
	return true, nil
}

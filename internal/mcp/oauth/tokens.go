package oauth

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"signoff/internal/domain"
)

// tokens are what a sign-in has brought. They are stored encrypted, as JSON.
type tokens struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"` // empty: nothing renews them
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires,omitzero"` // zero: the authorization server does not say
	Scopes  []string  `json:"scopes,omitempty"`

	// Forced: the MCP server refused the tokens before these. Where it refuses these, too, newer ones do not help.
	Forced bool `json:"forced,omitempty"`

	Client client `json:"client"`
}

// earliness is how long before their end tokens are renewed, but at most a fifth of their life.
const earliness = time.Minute

// due reports whether it is time to renew.
func (t tokens) due(now time.Time) bool {
	return !t.Expires.IsZero() && !now.Before(t.Expires.Add(-min(earliness, t.Expires.Sub(t.Issued)/5)))
}

// over reports whether no server takes the access token any more.
func (t tokens) over(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// granted reads the answer of a token endpoint. An answer without scopes grants those that were asked for: RFC 6749, section 5.1.
func granted(token *oauth2.Token, asked []string, by client) tokens {
	scopes := asked
	if text, said := token.Extra("scope").(string); said {
		scopes = strings.Fields(text)
	}
	return tokens{
		Access: token.AccessToken, Refresh: token.RefreshToken, Issued: time.Now().UTC(), Expires: token.Expiry.UTC(), Scopes: scopes, Client: by,
	}
}

// secrets are all that nobody may see.
func (t tokens) secrets() []string {
	return slices.DeleteFunc([]string{t.Access, t.Refresh, t.Client.Secret}, func(s string) bool { return s == "" })
}

func (k Keys) sealTokens(key domain.MCPCredentialKey, t tokens) ([]byte, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return k.seal(plain, contextOf(key)), nil
}

func (k Keys) openTokens(row domain.MCPCredential) (t tokens, older bool, err error) {
	plain, older, err := k.open(row.Sealed, contextOf(row.MCPCredentialKey))
	if err != nil {
		return t, false, err
	}
	return t, older, json.Unmarshal(plain, &t)
}

// contextOf binds tokens to their row.
func contextOf(key domain.MCPCredentialKey) []byte {
	return domain.Encode([]string{"mcp_credentials", string(key.Tenant), key.Server, key.Issuer, key.Resource, key.ClientID})
}

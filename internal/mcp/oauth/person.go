package oauth

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"signoff/internal/domain"
)

// lookAgain is how old a row may be that tokens are taken from: within this time, a running server follows a sign-in and its end.
const lookAgain = 5 * time.Second

// person is the access that a person has signed in for. Its tokens are a row, which all replicas share.
type person struct{ *grant }

func (p person) current(ctx context.Context) (tokens, error) {
	if err := p.look(ctx, lookAgain); err != nil {
		return tokens{}, err
	}
	if !p.tokens.due(time.Now()) {
		return p.tokens, nil
	}
	return p.renew(ctx, false)
}

func (p person) refused(ctx context.Context, _ []oauthex.Challenge) (tokens, error) {
	before := p.tokens.Access
	if err := p.look(ctx, 0); err != nil || p.tokens.Access != before {
		return p.tokens, err
	}
	if p.tokens.Forced {
		return tokens{}, p.signIn(whyRefused)
	}
	return p.renew(ctx, true)
}

func (p person) widened(ctx context.Context, challenges []oauthex.Challenge) (tokens, error) {
	before := p.tokens.Access
	if err := p.look(ctx, 0); err != nil || p.tokens.Access != before {
		return p.tokens, err
	}
	return tokens{}, missingScopes(p.tenant, p.name, scopesIn(challenges))
}

// signIn is the error where only a person can go on.
func (p person) signIn(why string) error {
	return unauthorized(why+": sign in with %s.", p.name, loginCommand(p.tenant, p.name))
}

// Why only a person can go on.
const (
	whyMissing = "MCP server %q wants a sign-in"
	whyRefused = "MCP server %q refuses the tokens of the sign-in"
	whyEnded   = "The sign-in at MCP server %q has ended"
)

// look reads the row, unless what is known of it is younger than age.
func (p person) look(ctx context.Context, age time.Duration) error {
	if !p.looked.IsZero() && time.Since(p.looked) < age {
		return nil
	}
	if err := p.writeLate(ctx); err != nil {
		return nil //nolint:nilerr // the tokens are good, and newer than the row
	}
	rows, err := p.all.config.Rows.MCPCredentialsOf(ctx, p.tenant, p.name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, p.fits)
	if i < 0 {
		p.grant.tokens, p.grant.row, p.grant.looked = tokens{}, domain.MCPCredential{}, time.Time{}
		return p.signIn(whyMissing)
	}
	if bytes.Equal(rows[i].Sealed, p.row.Sealed) && rows[i].MCPCredentialKey == p.row.MCPCredentialKey {
		p.grant.row, p.grant.looked = rows[i], time.Now()
		return nil
	}
	opened, _, err := p.all.config.Keys.openTokens(rows[i])
	if err != nil {
		p.grant.tokens, p.grant.row, p.grant.looked = tokens{}, domain.MCPCredential{}, time.Time{}
		return unauthorized("The sign-in at MCP server %q was encrypted with a key that SIGNOFF_ENCRYPTION_KEY does not have. Add that key behind the first one, "+
			"separated by a comma, or sign in again with %s.", p.name, loginCommand(p.tenant, p.name))
	}
	p.all.learn(p.tenant, p.name, opened)
	p.grant.tokens, p.grant.row, p.grant.looked = opened, rows[i], time.Now()
	return nil
}

// fits reports whether a row is for the server as its entry is now. Tokens for another address or authorization server are not sent to this one.
func (p person) fits(row domain.MCPCredential) bool {
	return covers(row.Resource, p.server.URL) &&
		(p.server.OAuth.ClientID == "" || p.server.OAuth.ClientID == row.ClientID) &&
		(p.server.OAuth.Issuer == "" || sameIssuer(p.server.OAuth.Issuer, row.Issuer))
}

package oauth

import (
	"context"
	"errors"
	"net/url"
	"time"
)

const (
	claimTime  = 45 * time.Second // longer than two requests: nobody else uses the refresh token meanwhile
	firstPause = 50 * time.Millisecond
	longPause  = time.Second
	writeTime  = 20 * time.Second
)

// renew replaces the tokens, on this replica or on another. forced: the server has refused the ones that there are, so they are not good enough to go
// on with where they cannot be replaced.
func (p person) renew(ctx context.Context, forced bool) (tokens, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		if p.tokens.Refresh == "" || p.row.Refused != nil {
			return p.unless(forced, p.signIn(whyEnded))
		}
		claimed, err := p.all.config.Rows.ClaimMCPCredential(ctx, p.row, p.all.replica, claimTime)
		if err != nil {
			return p.unless(forced, err)
		}
		if claimed {
			return p.exchange(ctx, forced)
		}
		if !forced && !p.tokens.over(time.Now()) {
			return p.tokens, nil // another replica is at it
		}
		before := p.tokens.Access
		if err := sleep(ctx, pause); err != nil {
			return tokens{}, p.failed(errors.New("another server renews the tokens, and does not finish"))
		}
		if err := p.look(ctx, 0); err != nil || p.tokens.Access != before && !p.tokens.over(time.Now()) {
			return p.tokens, err
		}
	}
}

// unless returns the tokens that there are, where they are still good; otherwise the error.
func (p person) unless(forced bool, err error) (tokens, error) {
	if !forced && !p.tokens.over(time.Now()) {
		return p.tokens, nil
	}
	return tokens{}, err
}

// exchange trades the refresh token in, under the claim.
//
// Most refresh tokens are good for one use. What the authorization server answers is written before anything else is done, and by a statement that asks
// for no claim. Where this process dies between the answer and the writing, the new tokens are lost. The next replica then tries the old refresh
// token: some authorization servers take it once more for such cases, and where not, somebody has to sign in again.
func (p person) exchange(ctx context.Context, forced bool) (tokens, error) {
	got, err := p.ask(ctx)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.dead(p.tokens.Client):
		return p.end(ctx, forced)
	case err != nil:
		_ = p.all.config.Rows.ReleaseMCPCredential(ctx, p.row, p.all.replica) // or it runs out
		return p.unless(forced, p.failed(err))
	}
	got.Forced = forced
	p.all.learn(p.tenant, p.name, got)
	sealed, err := p.all.config.Keys.sealTokens(p.row.MCPCredentialKey, got)
	if err != nil {
		return tokens{}, p.failed(err)
	}
	p.tokens, p.sealed = got, sealed
	if err := p.writeLate(ctx); err != nil {
		return p.tokens, nil //nolint:nilerr // they are good; the next look writes them
	}
	return p.tokens, p.look(ctx, 0) // a sign-in meanwhile is newer
}

// ask sends the refresh token to the authorization server that has made it, and to no other.
func (p person) ask(ctx context.Context) (tokens, error) {
	through := p.all.config.HTTP(p.server)
	at, err := authorizationServer(ctx, through, p.row.Issuer)
	if err != nil {
		return tokens{}, err
	}
	by := p.tokens.Client
	if !by.Dynamic && p.server.OAuth.ClientID != "" {
		if by, _, err = p.all.configured(p.server, at); err != nil {
			return tokens{}, err
		}
	}
	token, err := by.token(ctx, through, at.TokenEndpoint, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {p.tokens.Refresh}, "resource": {p.row.Resource},
	})
	if err != nil {
		return tokens{}, err
	}
	if !by.Dynamic {
		by.Secret = ""
	}
	return granted(token, p.tokens.Scopes, by), nil
}

// end notes that the refresh token is dead, so that no replica sends it again.
func (p person) end(ctx context.Context, forced bool) (tokens, error) {
	if err := p.all.config.Rows.RefuseMCPCredential(ctx, p.row, p.all.replica); err != nil {
		return p.unless(forced, err)
	}
	before := p.tokens.Access
	if err := p.look(ctx, 0); err != nil || p.tokens.Access != before {
		return p.tokens, err // somebody has signed in meanwhile
	}
	return p.unless(forced, p.signIn(whyEnded))
}

// writeLate writes new tokens in the place of those that they came from, and tries again where the database does not answer. What it cannot write it
// keeps, and writes with the next look.
func (p person) writeLate(ctx context.Context) error {
	if p.sealed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		written, err := p.all.config.Rows.RenewMCPCredential(ctx, p.row, p.sealed)
		if err == nil {
			if written {
				p.grant.row.Sealed = p.sealed
			}
			p.grant.sealed, p.grant.looked = nil, time.Time{} // where it was not written, a newer sign-in is there, or none
			return nil
		}
		if sleep(ctx, pause) != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

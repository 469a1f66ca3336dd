package oauth

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// service is the access of Signoff itself, with client credentials. Nothing is stored: a replica that has no token gets one.
// https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials
type service struct{ *grant }

func (s service) current(ctx context.Context) (tokens, error) {
	if s.tokens.Access != "" && !s.tokens.due(time.Now()) {
		return s.tokens, nil
	}
	through := s.all.config.HTTP(s.server)
	challenges, err := challenge(ctx, through, s.server)
	if err == nil {
		err = s.fetch(ctx, challenges, s.tokens.Scopes, false)
	}
	if err != nil && s.tokens.Access != "" && !s.tokens.over(time.Now()) {
		return s.tokens, nil // it still holds
	}
	return s.tokens, s.explained(err)
}

func (s service) refused(ctx context.Context, challenges []oauthex.Challenge) (tokens, error) {
	if s.tokens.Forced {
		return tokens{}, unauthorized("MCP server %q refuses the token that its authorization server has just made for Signoff.", s.name)
	}
	return s.tokens, s.explained(s.fetch(ctx, challenges, s.tokens.Scopes, true))
}

func (s service) widened(ctx context.Context, challenges []oauthex.Challenge) (tokens, error) {
	wanted := scopesIn(challenges)
	if !slices.ContainsFunc(wanted, func(scope string) bool { return !slices.Contains(s.tokens.Scopes, scope) }) {
		return tokens{}, s.lacks(wanted) // it was asked for already
	}
	if err := s.fetch(ctx, challenges, slices.Concat(s.tokens.Scopes, wanted), false); err != nil {
		return tokens{}, s.explained(err)
	}
	if slices.ContainsFunc(wanted, func(scope string) bool { return !slices.Contains(s.tokens.Scopes, scope) }) {
		return tokens{}, s.lacks(wanted)
	}
	return s.tokens, nil
}

func (s service) lacks(scopes []string) error {
	if len(scopes) == 0 {
		scopes = []string{"a scope that it does not name"}
	}
	return unauthorized("MCP server %q refuses the request: Signoff's client lacks %s at the authorization server.", s.name, strings.Join(scopes, ", "))
}

// fetch gets new tokens, with at least those scopes. forced: the server has refused the ones before.
func (s service) fetch(ctx context.Context, challenges []oauthex.Challenge, least []string, forced bool) error {
	through := s.all.config.HTTP(s.server)
	from, err := discover(ctx, through, s.server, challenges)
	if err != nil {
		return err
	}
	by, _, err := s.all.configured(s.server, from.at)
	if err != nil {
		return err
	}
	scopes := properScopes(slices.Concat(from.scopes, least))
	params := url.Values{"grant_type": {"client_credentials"}, "resource": {from.resource}}
	if len(scopes) > 0 {
		params.Set("scope", strings.Join(scopes, " "))
	}
	token, err := by.token(ctx, through, from.at.TokenEndpoint, params)
	if err != nil {
		return err
	}
	got := granted(token, scopes, by)
	got.Forced = forced
	s.all.learn(s.tenant, s.name, got)
	s.grant.tokens = got
	return nil
}

func (s service) explained(err error) error {
	var no *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &no):
		return unauthorized("The authorization server of MCP server %q gives Signoff no token: it answers %s.", s.name, no.code)
	default:
		return s.failed(err)
	}
}

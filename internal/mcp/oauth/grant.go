package oauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// grant is the access of a tenant to a server. All connections of this process share it, so that one of them renews the tokens and the others wait.
type grant struct {
	all    *Credentials
	tenant domain.TenantID
	name   string
	server mcp.Server

	// turn is held by whoever reads or writes what is below.
	turn   chan struct{}
	tokens tokens

	row    domain.MCPCredential // that the tokens came from; of a person's sign-in
	looked time.Time            // when the row was read
	sealed []byte               // new tokens that could not be written in the place of row yet
}

// work is one thing that is done with a grant while its turn is held.
type work func(ctx context.Context) (tokens, error)

// workTime bounds a renewal: the metadata, the token request, and the writing.
const workTime = time.Minute

// within does something with the grant. It goes on when ctx ends, because an authorization server that has made new tokens does not take the old
// ones back; only the waiting ends.
func (g *grant) within(ctx context.Context, do work) (tokens, error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return tokens{}, context.Cause(ctx)
	}
	if !g.all.begin() {
		<-g.turn
		return tokens{}, domain.Errorf(domain.CodeUnavailable, "The server is stopping.")
	}
	type result struct {
		tokens tokens
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer g.all.running.Done()
		defer func() { <-g.turn }()
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
		defer cancel()
		got, err := do(whole)
		done <- result{got, err}
	}()
	select {
	case r := <-done:
		return r.tokens, r.err
	case <-ctx.Done():
		return tokens{}, context.Cause(ctx)
	}
}

// access is how a kind of grant gets tokens. Its methods are called while the turn is held.
type access interface {
	// current returns tokens that hold, as far as is known.
	current(ctx context.Context) (tokens, error)
	// refused returns others than those that the server has just refused.
	refused(ctx context.Context, challenges []oauthex.Challenge) (tokens, error)
	// widened returns tokens with more scopes.
	widened(ctx context.Context, challenges []oauthex.Challenge) (tokens, error)
}

// handler signs the requests of a connection.
type handler struct {
	grant  *grant
	access access
}

// TokenSource returns the token for the next request. An error means that the request is not sent.
func (h handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	current, err := h.grant.within(ctx, h.access.current)
	if err != nil {
		return nil, err
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: current.Access}), nil
}

// Authorize is called when the server has refused a request. Without an error the request is sent once more, so there must be another token.
func (h handler) Authorize(ctx context.Context, request *http.Request, response *http.Response) error {
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, documentBytes) // the connection is used again
	challenges := challengesOf(response)
	sent := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
	lacks := param(challenges, "error") == "insufficient_scope"
	if response.StatusCode == http.StatusForbidden && !lacks {
		return unauthorized("MCP server %q refuses the request (status 403), with the token that it was sent.", h.grant.name)
	}
	_, err := h.grant.within(ctx, func(ctx context.Context) (tokens, error) {
		current, err := h.access.current(ctx)
		if err != nil || current.Access != sent {
			return current, err // somebody else has renewed it
		}
		if lacks {
			return h.access.widened(ctx, challenges)
		}
		return h.access.refused(ctx, challenges)
	})
	return err
}

// failed is the error where there are no tokens and a person can do nothing about it. The cause may name addresses, so only the operator sees it.
func (g *grant) failed(err error) error {
	return unauthorized("Signoff gets no token for MCP server %q.", g.name).With(fmt.Errorf("mcp/oauth: %w", err))
}

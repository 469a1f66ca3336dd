package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

const (
	errorAuthRequired    = -32000
	errorNotFound        = -32002 // a resource
	errorInternal        = -32603
	failureBytes         = 2 << 10 // of an agent's error in a message
	authenticationAdvice = "Sign in with the agent's own command, as the user that runs the server, " +
		"or pass its key: name the variable under env in the registry."
)

// errSlow ends a call that the agent does not answer in its time.
var errSlow = errors.New("the agent does not answer")

// explain returns the error of a call without a result. Where ctx has ended, it is the cause of ctx.
func (a *agent) explain(ctx context.Context, method string, err error) error {
	var answered *acp.RequestError
	switch {
	case errors.As(err, &answered) && answered.Code == errorAuthRequired:
		return domain.Errorf(domain.CodeAgentUnauthorized, "%s", a.signIn())
	case answered != nil:
		return domain.Errorf(domain.CodeAgentFailed, "The agent answered %s with an error: %s (code %d)", method, a.wording(answered), answered.Code)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errSlow):
		return domain.Errorf(domain.CodeAgentTimedOut, "The agent did not answer %s in time.", method)
	case errors.Is(err, wire.ErrNotReading):
		return domain.Errorf(domain.CodeAgentTimedOut, "The agent does not read what it is sent.")
	default:
		return a.program.ExitError(a.config.Masked)
	}
}

// wording is what an error says. Most agents put what happened into the data, and "Internal error" into the message.
func (a *agent) wording(answered *acp.RequestError) string {
	parts := []string{answered.Message}
	for _, part := range usefulText(domain.Encode(answered.Data)) {
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return wire.Beginning(string(a.config.Masked([]byte(strings.Join(parts, ": ")))), failureBytes)
}

// usefulText finds the words in an error's data, under the names that agents use.
func usefulText(data []byte) (texts []string) {
	if text := (wire.Object{"data": data}).Text("data"); text != "" {
		return []string{text}
	}
	o := wire.ReadObject(data)
	for _, name := range []string{"errorName", "errorKind", "codex_error_info", "details", "message", "reason", "error"} {
		switch text := o.Text(name); {
		case text != "":
			texts = append(texts, text)
		case wire.ReadObject(o[name]) != nil:
			texts = append(texts, string(o[name]))
		}
	}
	return texts
}

// signIn says what to do about an agent that wants to know who uses it. Only with a key is it ever signed in from
// here: the rest would open a browser on the server, or ask a terminal that nobody sits at.
func (a *agent) signIn() string {
	var ways []string
	for _, method := range a.hello.Objects("authMethods") {
		way := method.Text("name")
		if way == "" {
			way = method.Text("id")
		}
		if description := method.Text("description"); description != "" {
			way = fmt.Sprintf("%s (%s)", way, description)
		}
		ways = append(ways, way)
	}
	named := ""
	if len(ways) > 0 {
		named = " It names these ways: " + wire.Beginning(string(a.config.Masked([]byte(strings.Join(ways, "; ")))), failureBytes) + "."
	}
	return "The agent wants to be signed in first." + named + " " + authenticationAdvice
}

// invalid refuses a request, and says why.
func invalid(why string) *acp.RequestError { return &acp.RequestError{Code: -32602, Message: why} }

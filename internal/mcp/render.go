package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// Bounds of [Manager.Render].
const (
	renderPatience   = 30 * time.Second // of somebody who waits for a prompt
	maxRendering     = 4                // at once: each may have a program
	maxMessages      = 1000             // as many as a request takes
	maxRenderedBytes = 512 << 10        // of all messages: a request has at most 1 MiB, and encodes them
)

// Render has a server fill in one of its prompts, in a session of its own that ends with it. Messages without text are left out. It takes thirty seconds at
// most. prepare is that of [Manager.Look].
//
// Errors: [domain.CodeNotFound] (the tenant has no such server, or the server no such prompt), [domain.CodeInvalid] at the pointer of the argument,
// [domain.CodeMCPServerUnavailable] (the server has failed, and how), [domain.CodeOverloaded].
func (m *Manager) Render(ctx context.Context, tenant domain.TenantID, name, prompt string, arguments map[string]string, prepare Prepare) (Rendered, error) {
	if _, known := m.config.Catalog.Of(tenant)[name]; !known {
		return Rendered{}, domain.Errorf(domain.CodeNotFound, "There is no such MCP server.")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, renderPatience, wire.ErrTimeout)
	defer cancel()
	select {
	case m.rendering <- struct{}{}:
		defer func() { <-m.rendering }()
	case <-ctx.Done():
		return Rendered{}, domain.Errorf(domain.CodeOverloaded, "Too many prompts of MCP servers are rendered at this moment; try again.")
	}
	session, leave, err := m.alone(place{tenant, name}, prepare)
	if err != nil {
		return Rendered{}, domain.Errorf(domain.CodeMCPServerUnavailable, "The MCP server %q cannot be used: %s", name, domain.FailureOf(err).Message).With(err)
	}
	defer leave()
	rendered, err := session.template(ctx, name, prompt, arguments)
	return rendered, session.notRendered(name, err)
}

// template checks the arguments against the prompt as the server lists it now, before it fills it in.
func (s *Session) template(ctx context.Context, server, name string, arguments map[string]string) (Rendered, error) {
	all, err := s.Prompts(ctx, server)
	if err != nil {
		return Rendered{}, err
	}
	at := slices.IndexFunc(all, func(p Prompt) bool { return p.Name == name })
	if at < 0 {
		return Rendered{}, domain.Errorf(domain.CodeNotFound, "The MCP server %q has no such prompt.", server)
	}
	if wrong := all[at].check(arguments); wrong != nil {
		return Rendered{}, domain.InvalidParts(wrong...)
	}
	rendered, err := s.render(ctx, server, name, arguments)
	if err != nil {
		return Rendered{}, err
	}
	return rendered.fit(server)
}

// check says which arguments are missing, and which the prompt does not have.
func (p Prompt) check(arguments map[string]string) (wrong []domain.Detail) {
	for _, argument := range p.Arguments {
		if _, given := arguments[argument.Name]; argument.Required && !given {
			wrong = append(wrong, domain.Detail{Pointer: "/arguments" + domain.Pointer(argument.Name), Message: "is missing: the prompt needs it"})
		}
	}
	for name := range arguments {
		if !slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == name }) {
			wrong = append(wrong, domain.Detail{Pointer: "/arguments" + domain.Pointer(name), Message: "the prompt has no such argument"})
		}
	}
	slices.SortFunc(wrong, func(a, b domain.Detail) int { return strings.Compare(a.Pointer, b.Pointer) })
	return wrong
}

// fit is the prompt as a request can hold it.
func (r Rendered) fit(server string) (Rendered, error) {
	r.Messages = slices.DeleteFunc(r.Messages, func(m PromptMessage) bool { return strings.TrimSpace(m.Content) == "" })
	size := 0
	for _, message := range r.Messages {
		size += len(message.Content)
	}
	switch {
	case len(r.Messages) == 0:
		return Rendered{}, domain.Errorf(domain.CodeMCPServerUnavailable, "The prompt of the MCP server %q has no text.", server)
	case len(r.Messages) > maxMessages || size > maxRenderedBytes:
		return Rendered{}, domain.Errorf(domain.CodeMCPServerUnavailable, "The prompt of the MCP server %q has more than %d messages, or more than %d KiB of text: no request can hold it.",
			server, maxMessages, maxRenderedBytes>>10)
	}
	return r, nil
}

// notRendered is the error for somebody who has asked for a prompt.
func (s *Session) notRendered(server string, err error) error {
	var coded *domain.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &coded):
		return s.unavailable(server, err)
	case coded.Code == domain.CodeToolFailed || coded.Code == domain.CodeOutcomeUnknown:
		return domain.Errorf(domain.CodeMCPServerUnavailable, "%s", coded.Message).With(err)
	}
	return err
}

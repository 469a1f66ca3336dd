package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// maxPromptArguments bounds the arguments of one prompt.
const maxPromptArguments = 50

// Prompt is a text with holes that a server offers as a template for a request.
type Prompt struct {
	Name        string // as the server calls it, and without characters that nobody sees
	Title       string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is a hole of a [Prompt].
type PromptArgument struct {
	Name        string
	Title       string
	Description string
	Required    bool
}

// Rendered is a prompt whose holes are filled in.
type Rendered struct {
	Description string
	Messages    []PromptMessage
}

// PromptMessage is a message of a prompt. Pictures and other files are mentioned in its text, and left out.
type PromptMessage struct {
	Role    domain.Role // user or assistant
	Content string
}

// Prompts lists the templates of the server.
func (s *Session) Prompts(ctx context.Context, server string) ([]Prompt, error) {
	var all []Prompt
	if declares, err := s.declares(ctx, server, func(c *sdk.ServerCapabilities) bool { return c.Prompts != nil }); !declares {
		return nil, err
	}
	err := s.listed(ctx, server, "prompts/list", func(ctx context.Context, c *connection, cursor string) error {
		_, err := c.session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		return err
	}, "prompts", func(raw json.RawMessage) {
		var sent Prompt
		if json.Unmarshal(raw, &sent) != nil || !sent.canBeNamed() || slices.ContainsFunc(all, func(p Prompt) bool { return p.Name == sent.Name }) {
			return
		}
		sent.Title, sent.Description = wire.Line(sent.Title, maxNameBytes), wire.Line(sent.Description, wire.MaxMessageBytes)
		for i, argument := range sent.Arguments {
			sent.Arguments[i].Title = wire.Line(argument.Title, maxNameBytes)
			sent.Arguments[i].Description = wire.Line(argument.Description, wire.MaxMessageBytes)
		}
		all = append(all, sent)
	})
	return all, err
}

// canBeNamed reports whether a request can name the prompt and each of its arguments.
func (p Prompt) canBeNamed() bool {
	names := map[string]bool{}
	for _, argument := range p.Arguments {
		if !isPlainName(argument.Name) || names[argument.Name] {
			return false
		}
		names[argument.Name] = true
	}
	return isPlainName(p.Name) && len(names) <= maxPromptArguments
}

func isPlainName(name string) bool {
	return name != "" && len(name) <= maxNameBytes && wire.Line(name, maxNameBytes) == name
}

// Prompt fills in a template of the server, and returns it as one text.
func (s *Session) Prompt(ctx context.Context, server, name string, arguments map[string]string) (string, error) {
	rendered, err := s.render(ctx, server, name, arguments)
	if err != nil {
		return "", err
	}
	var text []string
	for _, message := range rendered.Messages {
		if len(rendered.Messages) > 1 {
			text = append(text, string(message.Role)+":")
		}
		text = append(text, message.Content)
	}
	return strings.Join(text, "\n"), nil
}

// render fills in a template of the server.
func (s *Session) render(ctx context.Context, server, name string, arguments map[string]string) (Rendered, error) {
	raw, err := s.ask(ctx, server, "prompts/get", func(ctx context.Context, c *connection) error {
		_, err := c.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: arguments})
		return err
	})
	if err != nil {
		return Rendered{}, err
	}
	var sent struct {
		Type        string `json:"resultType"`
		Description string `json:"description"`
		Messages    []struct {
			Role    domain.Role     `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(raw, &sent) != nil || sent.Type != "" && sent.Type != resultComplete {
		return Rendered{}, domain.Errorf(domain.CodeToolFailed, "The answer of the MCP server %q is not a prompt.", server)
	}
	rendered, reading := Rendered{Description: wire.Line(sent.Description, wire.MaxMessageBytes)}, &reading{}
	for _, message := range sent.Messages {
		var part wireContent
		if json.Unmarshal(message.Content, &part) != nil || message.Role != domain.RoleUser && message.Role != domain.RoleAssistant {
			return Rendered{}, domain.Errorf(domain.CodeToolFailed, "A message of the prompt of the MCP server %q cannot be read.", server)
		}
		rendered.Messages = append(rendered.Messages, PromptMessage{message.Role, reading.message(part)})
	}
	return rendered, nil
}

// message is the text of a message that has one part.
func (r *reading) message(part wireContent) string {
	texts, files := len(r.text), len(r.files)
	r.part(part)
	if len(r.files) > files {
		r.say("[left out: the messages of a request are text]")
	}
	return strings.Join(r.text[texts:], "\n")
}

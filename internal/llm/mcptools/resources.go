package mcptools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/tools"
)

// The names of [Resources] and [Read].
const (
	ResourcesName = "mcp_resources"
	ReadName      = "mcp_read"
)

const maxListed = 500 // resources, and prompts

var (
	//go:embed resources.md
	resourcesText string

	//go:embed read.md
	readText string
)

// Resources lists the resources and prompts of a server.
type Resources struct{ set *Set }

var _ tools.Tool = Resources{}

var resourcesArguments = arguments(`{
	"type": "object",
	"properties": {"server": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The name of the MCP server."}},
	"required": ["server"],
	"additionalProperties": false
}`)

// Definition implements [tools.Tool].
func (Resources) Definition() tools.Definition {
	return tools.Definition{Name: ResourcesName, Version: version, Class: domain.ClassMCP, Description: resourcesText, Schema: resourcesArguments.document}
}

// Check implements [tools.Tool].
func (r Resources) Check(arguments json.RawMessage, _ string) (tools.Intent, error) {
	server, err := r.server(arguments)
	if err != nil {
		return tools.Intent{}, err
	}
	return tools.Intent{
		Summary: "List the resources and prompts of the MCP server " + tools.Quote(server), Action: domain.Action{Server: server},
	}, nil
}

func (r Resources) server(arguments json.RawMessage) (string, error) {
	var read struct{ Server string }
	if err := resourcesArguments.read(arguments, &read); err != nil {
		return "", err
	}
	return read.Server, r.set.has(read.Server)
}

// has refuses a server that the execution has not.
func (s *Set) has(server string) error {
	if s == nil || slices.Contains(s.config.Servers, server) {
		return nil
	}
	return domain.Errorf(domain.CodeInvalidArguments, "This execution has no MCP server %s; it has %s.", tools.Quote(server), strings.Join(s.config.Servers, ", "))
}

// Run implements [tools.Tool].
func (r Resources) Run(ctx context.Context, host domain.Host, call domain.ToolCall) tools.Result {
	server, err := r.server(call.Arguments)
	switch {
	case err != nil:
		return failure(domain.CodeInvalidArguments, domain.FailureOf(err).Message)
	case r.set == nil:
		return noServers()
	}
	config := &r.set.config
	resources, err := config.Session.Resources(ctx, server)
	if err != nil {
		return config.failed(server, err)
	}
	prompts, err := config.Session.Prompts(ctx, server)
	if err != nil {
		return config.failed(server, err)
	}
	return config.noted(ctx, host, config.received(ctx, host, call, server, mcp.Result{Text: listing(resources, prompts)}))
}

func listing(all []mcp.Resource, prompts []mcp.Prompt) string {
	templates := slices.DeleteFunc(slices.Clone(all), func(r mcp.Resource) bool { return !r.Template })
	resources := slices.DeleteFunc(slices.Clone(all), func(r mcp.Resource) bool { return r.Template })
	lines := []string{fmt.Sprintf("Resources: %d", len(resources))}
	list := func(some []mcp.Resource) {
		for _, resource := range some[:min(len(some), maxListed)] {
			lines = append(lines, oneLine("- "+resource.URI+" "+resource.MediaType+" "+resource.Name+": "+resource.Description))
		}
	}
	list(resources)
	if len(templates) > 0 {
		lines = append(lines, "", fmt.Sprintf("Templates of resources, whose parts in braces have to be filled in: %d", len(templates)))
		list(templates)
	}
	lines = append(lines, "", fmt.Sprintf("Prompts: %d", len(prompts)))
	for _, prompt := range prompts[:min(len(prompts), maxListed)] {
		line := "- " + prompt.Name
		for _, argument := range prompt.Arguments {
			line += " " + argument.Name
			if argument.Required {
				line += " (required)"
			}
		}
		lines = append(lines, oneLine(line+": "+prompt.Description))
	}
	if max(len(resources), len(templates), len(prompts)) > maxListed {
		lines = append(lines, "", fmt.Sprintf("Of each, %d are listed.", maxListed))
	}
	return domain.ShowUnseen(strings.Join(lines, "\n"))
}

// Read reads a resource or a prompt of a server.
type Read struct{ set *Set }

var _ tools.Tool = Read{}

var readArguments = arguments(`{
	"type": "object",
	"properties": {
		"server": {"type": "string", "minLength": 1, "maxLength": 64, "description": "The name of the MCP server."},
		"uri": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The URI of a resource."},
		"prompt": {"type": "string", "minLength": 1, "maxLength": 400, "description": "The name of a prompt."},
		"arguments": {"type": "object", "maxProperties": 50, "additionalProperties": {"type": "string"}, "description": "The arguments of the prompt."}
	},
	"required": ["server"],
	"additionalProperties": false
}`)

// wanted is a resource or a prompt.
type wanted struct {
	Server, URI, Prompt string
	Arguments           map[string]string
}

// Definition implements [tools.Tool].
func (Read) Definition() tools.Definition {
	return tools.Definition{Name: ReadName, Version: version, Class: domain.ClassMCP, Description: readText, Schema: readArguments.document}
}

// Check implements [tools.Tool].
func (r Read) Check(arguments json.RawMessage, _ string) (tools.Intent, error) {
	read, err := r.wanted(arguments)
	if err != nil {
		return tools.Intent{}, err
	}
	from := " of the MCP server " + tools.Quote(read.Server)
	intent := tools.Intent{Summary: "Read " + tools.Quote(read.URI) + from, Action: domain.Action{Server: read.Server}}
	if read.Prompt != "" {
		intent.Summary = "Read the prompt " + tools.Quote(read.Prompt) + from
		if len(read.Arguments) > 0 {
			intent.Summary += " with " + tools.Quote(string(domain.Encode(read.Arguments)))
		}
	}
	return intent, nil
}

func (r Read) wanted(arguments json.RawMessage) (read wanted, err error) {
	if err := readArguments.read(arguments, &read); err != nil {
		return read, err
	}
	switch {
	case (read.URI == "") == (read.Prompt == ""):
		return read, domain.Errorf(domain.CodeInvalidArguments, `Give either "uri" or "prompt".`)
	case read.URI != "" && read.Arguments != nil:
		return read, domain.Errorf(domain.CodeInvalidArguments, `Only a prompt has "arguments".`)
	}
	return read, r.set.has(read.Server)
}

// Run implements [tools.Tool].
func (r Read) Run(ctx context.Context, host domain.Host, call domain.ToolCall) tools.Result {
	read, err := r.wanted(call.Arguments)
	switch {
	case err != nil:
		return failure(domain.CodeInvalidArguments, domain.FailureOf(err).Message)
	case r.set == nil:
		return noServers()
	}
	var got mcp.Result
	config := &r.set.config
	if read.Prompt != "" {
		got.Text, err = config.Session.Prompt(ctx, read.Server, read.Prompt, read.Arguments)
	} else {
		got, err = config.Session.Read(ctx, read.Server, read.URI)
	}
	if err != nil {
		return config.failed(read.Server, err)
	}
	return config.noted(ctx, host, config.received(ctx, host, call, read.Server, got))
}

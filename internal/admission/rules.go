package admission

import (
	"fmt"
	"regexp"

	"signoff/api"
	"signoff/internal/domain"
)

// This file has the rules about fields that contradict each other.

func wrongParts(body api.CreateExecution) faults {
	var found faults
	found.source(body)
	found.prompt(body)
	found.templated(body)
	found.kind(body)
	found.metadata(body.Metadata)
	found.permissions(permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets})
	return found
}

// source refuses the fields of the other type: ignored, they would look as if they were kept to.
func (f *faults) source(body api.CreateExecution) {
	if body.Source == nil {
		f.add("/source", "is required, or a block in its place")
		return
	}
	source := body.Source
	if source.Type == domain.SourceACP {
		if source.Command == "" {
			f.add("/source/command", "is required for an agent of type acp: a name of GET /agents")
		}
		if body.MaxIterations != nil {
			f.add("/maxIterations", "belongs to the type internal: an external agent keeps limits of its own")
		}
		f.internalOnly(body)
		return
	}
	for _, field := range []struct {
		name string
		sent bool
	}{{"command", source.Command != ""}, {"args", source.Args != nil}, {"mode", source.Mode != ""}, {"options", source.Options != nil}} {
		if field.sent {
			f.add("/source/"+field.name, "belongs to the type acp; the internal agent takes none")
		}
	}
	if len(api.Or(body.McpServers, nil)) > 0 {
		f.add("/mcpServers", "must be empty: the internal agent takes no MCP servers yet")
	}
}

// internalOnly refuses what only the internal agent keeps to.
func (f *faults) internalOnly(body api.CreateExecution) {
	for _, field := range []struct {
		pointer string
		sent    bool
	}{
		{"/source/fallbacks", body.Source.Fallbacks != nil},
		{"/tools/enabled", body.Tools != nil && body.Tools.Enabled != nil},
		{"/memory/enabled", body.Memory != nil && api.Or(body.Memory.Enabled, false)},
		{"/secrets", len(api.Or(body.Secrets, nil)) > 0},
	} {
		if field.sent {
			f.add(field.pointer, "belongs to the type internal: an external agent has its own")
		}
	}
}

func (f *faults) prompt(body api.CreateExecution) {
	switch {
	case body.Prompt == nil && body.Messages == nil:
		f.add("/prompt", "is required, or messages in its place")
	case body.Prompt != nil && body.Messages != nil:
		f.add("/messages", "must not come together with prompt")
	}
	if messages := api.Or(body.Messages, nil); len(messages) > 0 {
		if last := len(messages) - 1; messages[last].Role != domain.RoleUser {
			f.add(fmt.Sprintf("/messages/%d/role", last), "must be user: the last message is what the agent answers")
		}
	}
}

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (f *faults) metadata(labels map[string]string) {
	for name := range labels {
		if !metadataName.MatchString(name) {
			f.add(domain.Pointer("metadata", name), "must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -")
		}
	}
}

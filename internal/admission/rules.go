package admission

import (
	"fmt"
	"regexp"

	"signoff/api"
	"signoff/internal/domain"
)

// contradictions returns the errors of fields that exclude each other.
func contradictions(body api.CreateExecution) fieldErrors {
	var wrong fieldErrors
	wrong.source(body)
	wrong.prompt(body)
	wrong.kind(body)
	for name := range body.Metadata {
		if !metadataName.MatchString(name) {
			wrong.add(domain.Pointer("metadata", name), "must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -")
		}
	}
	wrong.delegation(body)
	wrong.workspace(body)
	wrong.permissions(permissions{body.Capabilities, body.Tools, body.Policy, body.SafeMode, body.Secrets})
	return wrong
}

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// source refuses the fields of the other type. If they were ignored, the client would believe that they take effect.
func (f *fieldErrors) source(body api.CreateExecution) {
	if body.Source == nil {
		f.add("/source", "is required, or a block in its place")
		return
	}
	source := body.Source
	f.refuse("belongs to the type profile", sentFields{{"/source/name", source.Name != ""}, {"/source/version", source.Version != 0}})
	if source.Type == domain.SourceACP {
		if source.Command == "" {
			f.add("/source/command", "is required for an agent of type acp: a name of GET /agents")
		}
		if body.MaxIterations != nil {
			f.add("/maxIterations", "belongs to the type internal: an external agent has its own limits")
		}
		f.refuse("belongs to the type internal: an external agent has its own", sentFields{
			{"/source/fallbacks", body.Source.Fallbacks != nil},
			{"/source/settings", body.Source.Settings != nil},
			{"/tools/enabled", body.Tools != nil && body.Tools.Enabled != nil},
			{"/memory/enabled", body.Memory != nil && api.Or(body.Memory.Enabled, false)},
			{"/secrets", len(api.Or(body.Secrets, nil)) > 0},
		})
		return
	}
	f.refuse("belongs to the type acp; the internal agent takes none", sentFields{
		{"/source/command", source.Command != ""}, {"/source/args", source.Args != nil}, {"/source/mode", source.Mode != ""},
		{"/source/options", source.Options != nil},
	})
}

// opensWithoutPrompt reports whether the agent is to be started and to wait for its first prompt. keepOpen has to be there: a client that forgets the
// prompt of an assistant, which stays open by default, would wait for an answer that nobody was asked for.
func opensWithoutPrompt(body api.CreateExecution) bool {
	return body.Prompt == nil && body.Messages == nil && api.Or(body.KeepOpen, false) && api.Or(body.Kind, domain.KindAgent) != domain.KindGeneration
}

func (f *fieldErrors) prompt(body api.CreateExecution) {
	switch {
	case body.Prompt == nil && body.Messages == nil && !opensWithoutPrompt(body):
		f.add("/prompt", "is required, or messages in its place; only with keepOpen: true the first prompt may come later")
	case body.Prompt != nil && body.Messages != nil:
		f.add("/messages", "must not come together with prompt")
	}
	*f = append(*f, checkParts(api.Or(body.Prompt, api.PromptInput{}))...)
	if messages := api.Or(body.Messages, nil); len(messages) > 0 {
		if last := len(messages) - 1; messages[last].Role != domain.RoleUser {
			f.add(fmt.Sprintf("/messages/%d/role", last), "must be user: the agent answers the last message")
		}
	}
}

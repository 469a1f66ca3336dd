package anthropic

import "signoff/internal/llm/provider"

// schemaRules are those for a schema that the model holds its answers to, with tools or without; there are such models since Claude 4.5.
// https://platform.claude.com/docs/en/build-with-claude/structured-outputs
func schemaRules(m provider.Model, _ bool) *provider.SchemaRules {
	if !sinceClaude(m.Model, 4, 5) {
		return nil
	}
	return &provider.SchemaRules{}
}

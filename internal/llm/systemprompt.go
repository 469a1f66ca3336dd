package llm

import (
	_ "embed"
	"strings"

	"signoff/internal/domain"
)

var (
	//go:embed safety.md
	safetyText string

	//go:embed persona.md
	personaText string
)

// systemPrompt is what the model reads first: the safety layer, which no request replaces; the persona, ours or the
// request's; where it works; the request's instructions.
func systemPrompt(request domain.Request) string {
	persona := personaText
	if strings.TrimSpace(request.SystemPrompt) != "" {
		persona = request.SystemPrompt
	}
	parts := []string{safetyText, persona}
	if request.WorkingDirectory != "" {
		parts = append(parts, "Working directory: "+request.WorkingDirectory)
	}
	parts = append(parts, request.Instructions)
	var kept []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

package llm

import (
	_ "embed"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// What an execution is for decides who the model is told to be, by which rules, and with which tools; see toolset.go for these.

var (
	//go:embed persona.md
	personaText string

	//go:embed assistant.md
	assistantText string

	//go:embed assistantrules.md
	assistantRulesText string

	//go:embed generator.md
	generatorText string

	//go:embed generatorrules.md
	generatorRulesText string

	//go:embed generatorfirst.md
	generatorFirstText string

	//go:embed generatoredit.md
	generatorEditText string

	//go:embed generatornudge.md
	generatorNudgeText string
)

const (
	shownTypes       = 100
	shownDescription = 200 // characters
)

// persona is who the model is to be, where the request does not say.
func persona(kind domain.Kind) string {
	switch kind {
	case domain.KindAssistant:
		return assistantText
	case domain.KindGeneration:
		return generatorText
	default:
		return personaText
	}
}

// kindRules is what holds for the kind, whoever the request makes of the model: without them, its blocks would reach nobody.
func (t *turn) kindRules() string {
	runbook := t.host.Runbook()
	switch t.agent.execution.Request.Kind {
	case domain.KindAssistant:
		return paragraphs(assistantRulesText, aboutTypes(runbook.BlockTypes))
	case domain.KindGeneration:
		task := generatorFirstText
		if t.edits {
			task = generatorEditText
		}
		return paragraphs(generatorRulesText, task, aboutPlace(runbook), aboutTypes(runbook.BlockTypes))
	default:
		return ""
	}
}

// aboutPlace says where the blocks go.
func aboutPlace(runbook domain.Runbook) string {
	switch {
	case runbook.InsertAfter != "":
		return fmt.Sprintf("The new blocks go behind the block with the id %q.", runbook.InsertAfter)
	case runbook.Document != nil:
		return "The new blocks go to the beginning of the document."
	default:
		return ""
	}
}

// aboutTypes lists the types of blocks with a line each. All that is known of one, the model looks up when it needs it.
func aboutTypes(types []domain.BlockType) string {
	if len(types) == 0 {
		return ""
	}
	lines := []string{"The types of blocks:", ""}
	for _, t := range types[:min(len(types), shownTypes)] {
		line := "- " + provider.OneLine(t.Type, shownDescription)
		if t.Description != "" {
			line += ": " + provider.OneLine(t.Description, shownDescription)
		}
		lines = append(lines, line)
	}
	if more := len(types) - shownTypes; more > 0 {
		lines = append(lines, fmt.Sprintf("- … and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// paragraphs joins what is not empty.
func paragraphs(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n\n")
}

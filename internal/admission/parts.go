package admission

import (
	"context"
	"fmt"
	"unicode/utf8"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/files"
	"signoff/internal/keys"
)

// Files finds the files of prompts, and reads those that are named by a path.
type Files interface {
	// Resolve returns the parts with the ids and descriptions of their files. A wrong part is domain.CodeInvalid with its pointer.
	Resolve(ctx context.Context, whose files.For, parts []domain.PromptPart) ([]domain.PromptPart, error)
}

// checkParts returns the mistakes in the form of a prompt in parts.
func checkParts(prompt api.PromptInput) []domain.Detail {
	if prompt.Parts == nil {
		return nil
	}
	if wrong := domain.CheckParts("/prompt", prompt.Parts); len(wrong) > 0 {
		return wrong
	}
	return tooLong(promptText(prompt))
}

// tooLong returns a mistake if the texts are too long together.
func tooLong(prompt string) []domain.Detail {
	if utf8.RuneCountInString(prompt) <= maxPrompt {
		return nil
	}
	return []domain.Detail{{Pointer: "/prompt", Message: fmt.Sprintf("must have at most %d characters in all its texts together", maxPrompt)}}
}

func promptText(prompt api.PromptInput) string {
	if prompt.Parts == nil {
		return prompt.Text
	}
	return domain.PartsText(prompt.Parts)
}

// promptParts is nil for a prompt of texts alone: it is kept as one text.
func promptParts(prompt api.PromptInput) []domain.PromptPart {
	if domain.FileParts(prompt.Parts) == nil {
		return nil
	}
	return prompt.Parts
}

// resolveParts finds the files of a request that is complete otherwise: its environment and its policy decide about paths.
func (a *Admission) resolveParts(ctx context.Context, by keys.Principal, request *domain.Request) (err error) {
	if request.Parts == nil {
		return nil
	}
	request.Requires = max(request.Requires, domain.RequiresFiles)
	request.Parts, err = a.partsOf(ctx, files.For{Tenant: by.Tenant, Request: *request, Pointer: "/prompt"}, request.Parts)
	return err
}

// partsOf finds the files of a prompt, and refuses those that its agent or its models do not take. The kind of a file is known only then, from its bytes.
func (a *Admission) partsOf(ctx context.Context, whose files.For, parts []domain.PromptPart) ([]domain.PromptPart, error) {
	resolved, err := a.config.Files.Resolve(ctx, whose, parts)
	if err != nil {
		return nil, err
	}
	source := whose.Request.Source
	if source.Type == domain.SourceACP {
		return resolved, a.config.Agents.CheckParts(ctx, source, whose.Pointer, resolved)
	}
	return resolved, a.config.Models.CheckParts(source, whose.Pointer, resolved)
}

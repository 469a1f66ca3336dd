package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// CheckParts refuses the pictures and files of a prompt that one of the source's models does not take: left out, the model would be asked about what it does not
// see. Text files go to every model, as text.
func (r *Registry) CheckParts(source domain.Source, pointer string, parts []domain.PromptPart) error {
	for _, name := range append([]string{source.Model}, source.Fallbacks...) {
		found, known := r.candidates[r.resolve(name)]
		if !known {
			continue // of an execution of a server with another registry; opening it says so
		}
		for i, part := range parts {
			if part.IsFile() && !domain.IsText(part.MediaType) && !slices.Contains(found.provider.Media, part.MediaType) {
				return domain.Invalid(fmt.Sprintf("%s/%d", pointer, i), "The model %s is not sent files of the type %s; %s.",
					found.model.Name, part.MediaType, taken(found.provider.Media))
			}
		}
	}
	return nil
}

func taken(media []string) string {
	return "it takes text files" + strings.Join(append([]string{""}, media...), ", ")
}

// withTextFiles puts the text files of a conversation into the texts of its messages, each at its place and under its name. The other parts stay as they are.
func withTextFiles(ctx context.Context, host domain.Host, history []domain.Message) ([]domain.Message, error) {
	history = slices.Clone(history)
	for i := range history {
		if m := &history[i]; m.Role == domain.RoleUser && m.Parts != nil {
			parts, err := readTexts(ctx, host, m.Parts)
			if err != nil {
				return nil, err
			}
			m.Text, m.Parts = domain.PartsText(parts), parts
			if domain.FileParts(parts) == nil {
				m.Parts = nil
			}
		}
	}
	return history, nil
}

// readTexts is parts with a text in the place of each text file.
func readTexts(ctx context.Context, host domain.Host, parts []domain.PromptPart) ([]domain.PromptPart, error) {
	read := slices.Clone(parts)
	for i, part := range parts {
		if !part.IsFile() || !domain.IsText(part.MediaType) {
			continue
		}
		file, content, err := host.ReadFile(ctx, part.FileID)
		if err != nil {
			return nil, fmt.Errorf("llm: read a file of the prompt: %w", err)
		}
		name := cmp.Or(part.Path, part.Name, file.Name, string(part.FileID))
		read[i] = domain.PromptPart{Type: domain.PartText, Text: fmt.Sprintf("The file %q:\n\n%s", name, content)}
	}
	return read, nil
}

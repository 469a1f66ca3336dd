package registry

import (
	"fmt"

	"signoff/internal/domain"
)

// CheckParts refuses the pictures and files of a prompt: no external agent gets any yet. To leave them out would ask it about what it does not see.
func (r *Registry) CheckParts(source domain.Source, pointer string, parts []domain.PromptPart) error {
	for i, part := range parts {
		if part.IsFile() {
			return domain.Invalid(fmt.Sprintf("%s/%d", pointer, i), "The agent %s has not declared that it takes a part of the type %s.", source.Command, part.Type)
		}
	}
	return nil
}

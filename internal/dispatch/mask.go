package dispatch

import (
	"bytes"
	"encoding/json"
	"slices"

	"signoff/internal/domain"
)

// maskRequest takes the secrets out of the texts of a request before anything is stored. Elsewhere they cannot be masked: a rule
// with a masked pattern would be another rule, and [masked] would be a class of letters in it.
func (m *Manager) maskRequest(request domain.Request) (masked domain.Request, err error) {
	plain := request.Marshal()
	hidden := m.masker.JSON(plain)
	if bytes.Equal(hidden, plain) {
		return request, nil
	}
	err = json.Unmarshal(hidden, &masked)
	if err != nil || !bytes.Equal(withoutTexts(request), withoutTexts(masked)) {
		return request, domain.Errorf(domain.CodeSecretExposed,
			"The request holds the value of a secret where it is no text that could be masked; name the secret instead.").With(err)
	}
	return masked, nil
}

// withoutTexts is the part of a request that decides what happens.
func withoutTexts(r domain.Request) []byte {
	r.Parts = slices.Clone(r.Parts)
	for i := range r.Parts {
		r.Parts[i].Text, r.Parts[i].Path, r.Parts[i].Name = "", "", ""
	}
	r.Prompt, r.Messages, r.Context, r.SystemPrompt, r.Instructions, r.Metadata, r.Variables = "", nil, nil, "", "", nil, nil
	if r.Runbook.Document != nil {
		r.Runbook.Document = &domain.Document{ID: r.Runbook.Document.ID, Revision: r.Runbook.Document.Revision}
	}
	r.Runbook.BlockTypes = slices.Clone(r.Runbook.BlockTypes)
	for i := range r.Runbook.BlockTypes {
		r.Runbook.BlockTypes[i].Docs = ""
	}
	return r.Marshal()
}

// maskParts takes the secrets out of the texts of a prompt and out of the names of its files.
func (m *Manager) maskParts(parts []domain.PromptPart) []domain.PromptPart {
	masked := slices.Clone(parts)
	for i := range masked {
		part := &masked[i]
		part.Text, part.Path, part.Name = m.masker.MaskString(part.Text), m.masker.MaskString(part.Path), m.masker.MaskString(part.Name)
	}
	return masked
}

// maskEdit takes the secrets out of a document. A secret in its revision cannot be masked: then nobody could ever accept for it.
func (m *Manager) maskEdit(edit domain.Edit) (*domain.Edit, error) {
	if edit.Document == nil {
		return &edit, nil
	}
	document := domain.Document{ID: edit.Document.ID, Revision: edit.Document.Revision, Blocks: m.masker.JSON(edit.Document.Blocks)}
	if m.masker.MaskString(document.Revision) != document.Revision {
		return nil, domain.Invalid("/document/revision", "The revision holds the value of a secret.")
	}
	edit.Document = &document
	return &edit, nil
}

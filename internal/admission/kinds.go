package admission

import (
	"encoding/json"
	"slices"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

// MaxClientTools bounds the client tools of a request, as in the document.
const MaxClientTools = 32

// kind refuses the fields of other kinds. If they were ignored, the client would believe that they take effect.
func (f *fieldErrors) kind(body api.CreateExecution) {
	internal := body.Source == nil || body.Source.Type == domain.SourceInternal
	kind := api.Or(body.Kind, domain.KindAgent)
	switch {
	case !internal && kind != domain.KindAgent:
		f.add("/source/type", "must be internal for this kind: an external agent knows nothing of runbooks")
	case !internal:
		f.refuse("belongs to the type internal: an external agent cannot use it", sentFields{
			{"/document", body.Document != nil}, {"/insertAfter", body.InsertAfter != nil}, {"/blockTypes", body.BlockTypes != nil},
			{"/defaultShell", body.DefaultShell != nil}, {"/clientTools", body.ClientTools != nil},
		})
	}
	if kind == domain.KindGeneration {
		f.generation(body)
	}
	switch {
	case body.InsertAfter == nil:
	case body.Document == nil:
		f.add("/insertAfter", "must come together with the document that it is a place of")
	case !hasBlock(body.Document, *body.InsertAfter):
		f.add("/insertAfter", "must be the id of a block of the document")
	}
}

// generation refuses fields without effect: the agent has only the tools that write blocks, and it ends with blocks, not with an answer.
func (f *fieldErrors) generation(body api.CreateExecution) {
	if body.Document == nil {
		f.add("/document", "is required for this kind")
	}
	if body.KeepOpen != nil && !*body.KeepOpen {
		f.add("/keepOpen", "must not be false for this kind: a person looks at the blocks")
	}
	f.refuse("does not go together with this kind: it only writes blocks, from its prompt and its document", sentFields{
		{"/messages", body.Messages != nil}, {"/tools", body.Tools != nil}, {"/clientTools", body.ClientTools != nil},
		{"/outputSchema", body.OutputSchema != nil}, {"/contextFrom", len(api.Or(body.ContextFrom, nil)) > 0},
		{"/memory/enabled", body.Memory != nil && api.Or(body.Memory.Enabled, false)},
		{"/secrets", len(api.Or(body.Secrets, nil)) > 0}, {"/mcpServers", len(api.Or(body.McpServers, nil)) > 0},
	})
}

// hasBlock reports whether a block is in a document. It is true if no block has an id, since then the server cannot know.
func hasBlock(document *domain.Document, block string) bool {
	var blocks any
	if json.Unmarshal(document.Blocks, &blocks) != nil { // unreachable: the body was read before
		return true
	}
	ids := blockIDs(blocks)
	return len(ids) == 0 || slices.Contains(ids, block)
}

// blockIDs returns the ids of all objects in lists, since the client chooses the name of the list of nested blocks.
func blockIDs(node any) (ids []string) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if block, is := item.(map[string]any); is {
				if id, has := block["id"].(string); has {
					ids = append(ids, id)
				}
			}
			ids = append(ids, blockIDs(item)...)
		}
	case map[string]any:
		for _, field := range node {
			ids = append(ids, blockIDs(field)...)
		}
	}
	return ids
}

// runbook returns the runbook of a request, with the server's defaults.
func (a *Admission) runbook(body api.CreateExecution) domain.Runbook {
	runbook := domain.Runbook{
		Document: body.Document, InsertAfter: api.Or(body.InsertAfter, ""), DefaultShell: api.Or(body.DefaultShell, ""),
		BlockTypes: api.Or(body.BlockTypes, nil),
	}
	about := body.Document != nil || body.BlockTypes != nil || api.Or(body.Kind, domain.KindAgent) != domain.KindAgent
	if !about { // an agent without a runbook
		return runbook
	}
	runbook.BlockTypes = runbooks.Merge(runbook.BlockTypes, a.config.Settings.BlockTypes)
	if runbook.DefaultShell == "" {
		runbook.DefaultShell = a.config.Settings.Shell
	}
	return runbook
}

package admission

import (
	"encoding/json"
	"slices"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

// This file has the fields that the kinds of executions need and refuse, and what a request says about its runbook.

// MaxClientTools is how many tools of its client a request may bring along, as in the document.
const MaxClientTools = 32

// kind refuses the fields that do not belong to the kind: ignored, they would look as if they were kept to.
func (f *faults) kind(body api.CreateExecution) {
	internal := body.Source == nil || body.Source.Type == domain.SourceInternal
	kind := api.Or(body.Kind, domain.KindAgent)
	switch {
	case !internal && kind != domain.KindAgent:
		f.add("/source/type", "must be internal for this kind: an external agent knows nothing of runbooks")
	case !internal:
		f.runbookless(body)
	}
	if kind == domain.KindGeneration {
		f.generation(body)
	}
	f.place(body)
}

// runbookless refuses what an external agent would never see.
func (f *faults) runbookless(body api.CreateExecution) {
	for _, field := range []struct {
		name string
		sent bool
	}{
		{"document", body.Document != nil}, {"insertAfter", body.InsertAfter != nil}, {"blockTypes", body.BlockTypes != nil},
		{"defaultShell", body.DefaultShell != nil}, {"clientTools", body.ClientTools != nil},
	} {
		if field.sent {
			f.add("/"+field.name, "belongs to the type internal: an external agent cannot be given it")
		}
	}
}

// generation is strict: the agent has the tools that blocks are written with, and no others, and ends with blocks and not
// with an answer.
func (f *faults) generation(body api.CreateExecution) {
	if body.Document == nil {
		f.add("/document", "is required for this kind")
	}
	if body.KeepOpen != nil && !*body.KeepOpen {
		f.add("/keepOpen", "must not be false for this kind: a person looks at the blocks")
	}
	for _, field := range []struct {
		pointer string
		sent    bool
	}{
		{"/messages", body.Messages != nil}, {"/tools", body.Tools != nil}, {"/clientTools", body.ClientTools != nil},
		{"/outputSchema", body.OutputSchema != nil}, {"/contextFrom", len(api.Or(body.ContextFrom, nil)) > 0},
		{"/memory/enabled", body.Memory != nil && api.Or(body.Memory.Enabled, false)},
		{"/secrets", len(api.Or(body.Secrets, nil)) > 0},
	} {
		if field.sent {
			f.add(field.pointer, "does not go together with this kind: it only writes blocks, from its prompt and its document")
		}
	}
}

// place holds insertAfter against the document. Where blocks have no ids nobody can tell.
func (f *faults) place(body api.CreateExecution) {
	if body.InsertAfter == nil {
		return
	}
	if body.Document == nil {
		f.add("/insertAfter", "must come together with the document that it is a place of")
		return
	}
	if !holds(body.Document, *body.InsertAfter) {
		f.add("/insertAfter", "must be the id of a block of the document")
	}
}

// holds tells whether a block is in a document. Where blocks have no ids nobody can tell.
func holds(document *domain.Document, block string) bool {
	var blocks any
	if json.Unmarshal(document.Blocks, &blocks) != nil { // unreachable: the body was read before
		return true
	}
	ids := blockIDs(blocks)
	return len(ids) == 0 || slices.Contains(ids, block)
}

// blockIDs finds the ids of all objects in lists: what the list of nested blocks is called is the client's business.
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

// keepOpen is whether an execution takes further prompts where its request does not say so. A person is to look at what an
// assistant says and at blocks, and to go on from there.
func keepOpen(body api.CreateExecution) bool {
	return api.Or(body.KeepOpen, api.Or(body.Kind, domain.KindAgent) != domain.KindAgent)
}

// runbook is what a request says of its runbook, and what the server knows of every one.
func (a *Admission) runbook(body api.CreateExecution) domain.Runbook {
	runbook := domain.Runbook{
		Document: body.Document, InsertAfter: api.Or(body.InsertAfter, ""), DefaultShell: api.Or(body.DefaultShell, ""),
		BlockTypes: api.Or(body.BlockTypes, nil),
	}
	about := body.Document != nil || body.BlockTypes != nil || api.Or(body.Kind, domain.KindAgent) != domain.KindAgent
	if !about { // no runbook, but an agent that works for itself
		return runbook
	}
	runbook.BlockTypes = runbooks.Merge(runbook.BlockTypes, a.config.Settings.BlockTypes)
	if runbook.DefaultShell == "" {
		runbook.DefaultShell = a.config.Settings.Shell
	}
	return runbook
}

// enabled refuses what the operator has switched off.
func (a *Admission) enabled(body api.CreateExecution) error {
	if a.config.Settings.BlockGenerationOff && api.Or(body.Kind, "") == domain.KindGeneration {
		return domain.Errorf(domain.CodeFeatureDisabled, "The operator of this server has switched the generation of blocks off.")
	}
	return nil
}

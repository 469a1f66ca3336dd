package http

import (
	"encoding/json"
	"fmt"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/schema"
)

// This file is what the kinds of executions need and do not take, and what is said about runbooks.

const (
	maxBlockTypes  = runbooks.MaxTypes
	maxClientTools = 32
)

// documentTools are the tools that every assistant has, and that its client runs.
var documentTools = runbooks.DocumentTools

// asksClient tells whether an execution can have calls that its client is to run.
func asksClient(request domain.Request) bool {
	return request.Kind == domain.KindAssistant || len(request.ClientTools) > 0
}

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
func (s *Server) runbook(body api.CreateExecution) domain.Runbook {
	runbook := domain.Runbook{
		Document: body.Document, InsertAfter: api.Or(body.InsertAfter, ""), DefaultShell: api.Or(body.DefaultShell, ""),
		BlockTypes: api.Or(body.BlockTypes, nil),
	}
	about := body.Document != nil || body.BlockTypes != nil || api.Or(body.Kind, domain.KindAgent) != domain.KindAgent
	if !about { // no runbook, but an agent that works for itself
		return runbook
	}
	runbook.BlockTypes = runbooks.Merge(runbook.BlockTypes, s.defaults.BlockTypes)
	if runbook.DefaultShell == "" {
		runbook.DefaultShell = s.defaults.Shell
	}
	return runbook
}

// enabled refuses what the operator has switched off.
func (s *Server) enabled(body api.CreateExecution) error {
	if s.defaults.BlockGenerationOff && api.Or(body.Kind, "") == domain.KindGeneration {
		return domain.Errorf(domain.CodeFeatureDisabled, "The operator of this server has switched the generation of blocks off.")
	}
	return nil
}

// declared checks what a request brings along for the model to keep to: types of blocks, tools, and the schema of the answer.
func (s *Server) declared(request domain.Request) error {
	if request.Kind == domain.KindGeneration && len(request.Runbook.BlockTypes) == 0 {
		return domain.Invalid("/blockTypes", "There must be a type that blocks can have: the server knows none, so the request has to name one.")
	}
	if _, err := runbooks.Compile(request.Runbook.BlockTypes); err != nil {
		return domain.Below("/blockTypes", err)
	}
	for i, known := range request.Runbook.BlockTypes { // those of the request come first
		known.Docs = "" // a text like a prompt: what is secret in it is masked
		if err := s.literal(fmt.Sprintf("/blockTypes/%d", i), known); err != nil {
			return err
		}
	}
	if request.OutputSchema != nil {
		if err := s.schema("/outputSchema", request.OutputSchema); err != nil {
			return err
		}
	}
	return s.tooled(request)
}

// tooled checks the tools that the client runs.
func (s *Server) tooled(request domain.Request) error {
	taken := map[string]string{}
	for _, own := range s.tools.Tools() {
		if !runbooks.ClientMayRun(request, own.Name) {
			taken[own.Name] = "This is a tool of the server; a tool of the client needs another name."
		}
	}
	for i, tool := range request.ClientTools {
		at := fmt.Sprintf("/clientTools/%d", i)
		if message, known := taken[tool.Name]; known {
			return domain.Invalid(at+"/name", "%s", message)
		}
		taken[tool.Name] = "Two tools have this name."
		if err := s.schema(at+"/schema", tool.Schema); err != nil {
			return err
		}
		if !schema.OfObject(tool.Schema) {
			return domain.Invalid(at+"/schema", `The arguments of a tool are an object: the schema's "type" must be "object".`)
		}
		if err := s.literal(at, tool); err != nil {
			return err
		}
	}
	return nil
}

// schema refuses one that nothing can be checked with, and one with a secret in it: masked it would ask for something else.
func (s *Server) schema(at string, document json.RawMessage) error {
	if _, err := schema.Compile(document); err != nil {
		return domain.At(at, err)
	}
	return s.literal(at, document)
}

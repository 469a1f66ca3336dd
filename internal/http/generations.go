package http

import (
	"context"
	"slices"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// getGeneration returns all generations of blocks that an execution has submitted.
func (s *Server) getGeneration(ctx context.Context, request executionPath) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.reader.Generations(ctx, execution.Tenant, execution.ID)
	return okJSON(toHistory(execution, all)), err
}

func toHistory(execution domain.Execution, all []domain.Generation) api.GenerationHistory {
	runbook := execution.Request.Runbook
	out := api.GenerationHistory{
		ExecutionId: string(execution.ID), InsertAfter: textOrNull(runbook.InsertAfter), Versions: mapped(all, toGeneration),
	}
	if runbook.Document != nil {
		out.DocumentRevision = textOrNull(runbook.Document.Revision)
	}
	if len(all) > 0 {
		last := &out.Versions[len(all)-1]
		out.Current, out.State, out.DocumentRevision = &last.Number, &last.State, last.DocumentRevision
	}
	return out
}

type editGeneration struct {
	executionPath
	idempotent
	Body api.EditGeneration
}

// editGeneration asks for changes. It does not wait for them; events report them.
func (s *Server) editGeneration(ctx context.Context, request editGeneration) (responder, error) {
	by := principalOf(ctx)
	if err := s.admission.AdmitEdit(ctx, by, request.ID, request.Body.Document); err != nil {
		return nil, err
	}
	prompt, replayed, err := s.sessions.Edit(ctx, by.Tenant, request.ID, domain.QueuedPrompt{
		Text: request.Body.Text,
		Edit: &domain.Edit{Generation: api.Or(request.Body.Generation, 0), Document: request.Body.Document},
	}, by.Actor, request.idempotency())
	if err != nil {
		return nil, s.attachGeneration(ctx, request.ID, err)
	}
	return acceptedJSON(toPrompt(prompt)).with(replayedHeader(replayed)), nil
}

type acceptGeneration struct {
	executionPath
	Body api.AcceptGeneration
}

// acceptGeneration accepts blocks. It requires the revision of the document for which they were written: without it, a client would notice
// a changed document only when the blocks are at the wrong place.
func (s *Server) acceptGeneration(ctx context.Context, request acceptGeneration) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	number, revision := request.Body.Generation, api.Or(request.Body.DocumentRevision, "")
	generation, err := s.generation(ctx, execution, number)
	if err != nil {
		return nil, s.attachGeneration(ctx, execution.ID, err)
	}
	if generation.DocumentRevision != "" && revision == "" {
		return nil, domain.Errorf(domain.CodeRevisionRequired, "Send the current revision of the document as documentRevision.")
	}
	by := principalOf(ctx)
	acceptance := store.Acceptance{Generation: number, Revision: revision, By: by.Actor}
	if _, err := s.sessions.Accept(ctx, by.Tenant, execution.ID, acceptance); err != nil {
		return nil, s.attachGeneration(ctx, execution.ID, err)
	}
	generation, err = s.generation(ctx, execution, number)
	return okJSON(toGeneration(generation)), err
}

// generation reads one generation of an execution.
func (s *Server) generation(ctx context.Context, execution domain.Execution, number int) (domain.Generation, error) {
	all, err := s.reader.Generations(ctx, execution.Tenant, execution.ID)
	if err != nil {
		return domain.Generation{}, err
	}
	at := slices.IndexFunc(all, func(g domain.Generation) bool { return g.Number == number })
	if at < 0 {
		return domain.Generation{}, domain.Errorf(domain.CodeNoGeneration, "The execution has no generation with the number %d.", number)
	}
	return all[at], nil
}

// attachGeneration adds the execution and its newest blocks to an error about their state.
func (s *Server) attachGeneration(ctx context.Context, id domain.ExecutionID, err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeNoGeneration, domain.CodeDocumentChanged:
		return s.conflictWith(ctx, id, err)
	default:
		return s.attachExecution(ctx, id, err)
	}
}

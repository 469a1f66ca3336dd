package items

import (
	"fmt"

	"signoff/internal/domain"
)

// generated adds a new generation of blocks and supersedes the one before it. The call that submitted the blocks starts with this event, and
// ends when a person has accepted the blocks or asked for changes.
func (r *Reducer) generated(p domain.BlocksGenerated) {
	r.begun(r.call(p.ToolCallID))
	r.decide(domain.GenerationSuperseded)
	r.current = r.add(Item{
		ID: fmt.Sprintf("blocks:%d", p.Generation), Kind: KindBlocks, Turn: p.Turn, Status: StatusOpen,
		Blocks: &Blocks{
			Generation: p.Generation, ToolCallID: p.ToolCallID, Blocks: boundedJSON(p.Blocks), InsertAfter: p.InsertAfter,
			DocumentRevision: p.DocumentRevision, State: domain.GenerationSubmitted,
		},
	})
}

func (r *Reducer) accepted(p domain.BlocksAccepted) {
	if r.current != nil && r.current.Blocks.Generation == p.Generation {
		r.current.Blocks.AcceptedBy = &p.By
		r.decide(domain.GenerationAccepted)
	}
}

// decide sets the state of the submitted blocks.
func (r *Reducer) decide(state domain.GenerationState) {
	if r.current == nil {
		return
	}
	r.current.Blocks.State, r.current.Status = state, StatusComplete
	r.touch(r.current)
	r.current = nil
}

package store

import (
	"database/sql"

	"signoff/internal/domain"
)

// generationStanding is what decides whether the blocks of a generation can be accepted.
type generationStanding struct {
	execution domain.ExecutionID
	head      takenHead
	busy      bool                   // it is not idle, or a prompt waits
	state     domain.GenerationState // empty: there is no such generation
	revision  string
	by        *domain.Actor
}

// admitAcceptances refuses what cannot be accepted. Like admitAnswers it also judges executions that have ended: an acceptance ends its
// execution, so a repeated one usually comes after the end.
func (b *batch) admitAcceptances() error {
	var rows []row
	for i, c := range b.readRepeats {
		if c.Accept != nil {
			rows = append(rows, row{i, []any{string(c.Execution), int64(c.Accept.Generation)}})
		}
	}
	standings, err := ask(b, `id text, number bigint`, rows, scanGenerationStanding, `
		select h.execution_id, h.last_seq, h.tenant_id, e.status <> 'idle'
				or exists (select 1 from prompts p where p.execution_id = v.id and p.state = 'queued'),
			coalesce(g.state, ''), coalesce(g.document_revision, ''), g.by
		from v join execution_heads h on h.execution_id = v.id join executions e on e.id = v.id
			left join generations g on g.execution_id = v.id and g.number = v.number`)
	if err != nil {
		return err
	}
	for _, s := range standings {
		i := b.places[s.execution]
		b.judge(i, s.head, s.refusal(b.changes[i].Accept))
	}
	return nil
}

func scanGenerationStanding(row scanner) (s generationStanding, err error) {
	var by sql.NullString
	if err := row.Scan(&s.execution, &s.head.lastSeq, &s.head.tenant, &s.busy, &s.state, &s.revision, &by); err != nil {
		return s, err
	}
	s.by, err = optional[domain.Actor]("by", by)
	return s, err
}

func (s generationStanding) refusal(a *Acceptance) error {
	again := s.by != nil && s.by.KeyID == a.By.KeyID
	switch {
	case s.state != domain.GenerationSubmitted && !again:
		return errNoGeneration
	case a.Revision != "" && a.Revision != s.revision:
		return domain.Errorf(domain.CodeDocumentChanged, "The blocks were written for another revision of the document.")
	case again:
		return errDone
	case s.busy:
		return domain.Errorf(domain.CodeBusy, "The execution is busy: its blocks can be accepted when it rests.")
	}
	return nil
}

var errNoGeneration = domain.Errorf(domain.CodeNoGeneration, "There is no such generation, or it is not the newest one any more.")

// addGenerations numbers by the stored generations: a driver with another number is refused, and overwrites nothing.
func (b *batch) addGenerations() error {
	var rows []row
	for i, c := range b.live {
		if g := c.Generate; g != nil {
			rows = append(rows, row{i, []any{string(c.Execution), int64(g.Number), b.heads[c.Execution].tenant, int64(g.Turn),
				text(g.ToolCallID), text(string(g.Blocks)), text(g.DocumentRevision), g.Created.UnixMicro()}})
		}
	}
	const spec = `id text, number bigint, tenant text, turn bigint, call text, blocks text, revision text, created bigint`
	err := b.insert(spec, rows, `
		update generations as g set state = 'superseded', decided_us = now_us()
		from v where g.execution_id = v.id and g.state = 'submitted'`)
	if err != nil {
		return err
	}
	return b.writeRows(spec, rows, domain.Errorf(domain.CodeConflict, "The generation is not the next one."), `
		insert into generations (execution_id, number, tenant_id, state, turn, call_id, blocks, document_revision, created_us)
		select id, number, tenant, 'submitted', turn, call, blocks, revision, created
		from v where number = 1 + (select coalesce(max(number), 0) from generations g where g.execution_id = v.id)
		on conflict do nothing returning execution_id`)
}

// acceptGenerations writes the admitted acceptances: while the heads are locked, nothing else decides about a generation. writeControlRequests
// also closes the execution.
func (b *batch) acceptGenerations() error {
	var rows []row
	for i, c := range b.live {
		if c.Accept == nil {
			continue
		}
		by, err := encode(c.Accept.By)
		if err != nil {
			return err
		}
		rows = append(rows, row{i, []any{string(c.Execution), int64(c.Accept.Generation), by}})
	}
	return b.insert(`id text, number bigint, actor text`, rows, `
		update generations as g set state = 'accepted', by = v.actor, decided_us = now_us()
		from v where g.execution_id = v.id and g.number = v.number`)
}

// cancelGenerations cancels the submitted generations of executions that end.
func (b *batch) cancelGenerations() error {
	return b.insert(`id text`, b.ending(), `
		update generations as g set state = 'cancelled', decided_us = now_us()
		from v where g.execution_id = v.id and g.state = 'submitted'`)
}

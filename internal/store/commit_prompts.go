package store

import (
	"signoff/internal/domain"
)

// promptsQueued bounds the queued prompts of an execution.
const promptsQueued = 100

// standing is the state that decides whether a prompt is accepted.
type standing struct {
	execution domain.ExecutionID
	status    domain.Status
	closed    bool
	queued    int
	known     bool // a prompt with its key was taken in
	submitted int  // the generation that waits for somebody; 0: none
}

// admitPrompts refuses the prompts that the execution does not take.
func (b *batch) admitPrompts() error {
	var rows []row
	for i, c := range b.live {
		if c.Prompt == nil {
			continue
		}
		key, _ := c.Prompt.Idempotency.values()
		rows = append(rows, row{i, []any{string(c.Execution), key}})
	}
	standings, err := ask(b, `id text, key text`, rows, func(row scanner) (s standing, err error) {
		return s, row.Scan(&s.execution, &s.status, &s.closed, &s.queued, &s.known, &s.submitted)
	}, `
		select v.id, e.status, e.close_by is not null,
			(select count(*) from prompts p where p.execution_id = v.id and p.state = 'queued'),
			exists (select 1 from prompts p where p.execution_id = v.id and p.idempotency_key = v.key),
			coalesce((select g.number from generations g where g.execution_id = v.id and g.state = 'submitted'), 0)
		from v join executions e on e.id = v.id`)
	if err != nil {
		return err
	}
	for _, s := range standings {
		i := b.places[s.execution]
		if why := s.refusal(&b.changes[i].Prompt.Prompt); why != nil {
			b.refuse(i, why)
		}
	}
	return nil
}

// refusal asks for the key first: a client that repeats itself gets its first answer, whatever has happened since.
func (s standing) refusal(p *domain.QueuedPrompt) error {
	waits := s.status != domain.StatusIdle || s.queued > 0
	switch {
	case s.known:
		return domain.Errorf(domain.CodeConflict, "The idempotency key is taken.")
	case s.closed:
		return domain.Errorf(domain.CodeClosed, "The execution is closed: it takes no more prompts.")
	case p.Edit != nil && waits:
		return domain.Errorf(domain.CodeBusy, "The execution is busy: its blocks can be edited when it rests.")
	case p.Edit != nil && (s.submitted == 0 || s.submitted != p.Edit.Generation):
		return errNoGeneration
	case p.WhenBusy == domain.WhenBusyReject && waits:
		return domain.Errorf(domain.CodeBusy, "The execution is busy, and the prompt did not want to wait.")
	case s.queued >= promptsQueued:
		return domain.Errorf(domain.CodeBusy, "%d prompts of the execution wait already: send it later.", s.queued)
	}
	return nil
}

func (i *Idempotency) values() (key, bodyHash any) {
	if i == nil {
		return nil, nil
	}
	return text(i.Key), append(make([]byte, 0, 32), i.BodyHash...)
}

// movePrompts starts and discards what is queued.
func (b *batch) movePrompts() error {
	var rows []row
	for i, c := range b.live {
		if c.StartPrompt != "" {
			rows = append(rows, row{i, []any{text(string(c.StartPrompt)), string(c.Execution), "started", int64(c.Update.Turn)}})
		}
		for _, prompt := range c.DiscardPrompts {
			rows = append(rows, row{i, []any{text(string(prompt)), string(c.Execution), "discarded", nil}})
		}
	}
	return b.writeRows(`prompt text, execution text, state text, turn bigint`, rows, stale("The prompt is not queued any more."), `
		update prompts as p set state = v.state, turn = v.turn
		from v where p.id = v.prompt and p.execution_id = v.execution and p.state = 'queued'
		returning id`)
}

func (b *batch) queuePrompts() error {
	var rows []row
	for i, c := range b.live {
		if c.Prompt == nil {
			continue
		}
		p, head := &c.Prompt.Prompt, b.heads[c.Execution]
		by, err := encode(p.By)
		if err != nil {
			return err
		}
		edited, document, err := editValues(p.Edit)
		if err != nil {
			return err
		}
		var options any
		if len(p.Options) > 0 {
			if options, err = encode(p.Options); err != nil {
				return err
			}
		}
		var parts any
		if len(p.Parts) > 0 {
			if parts, err = encode(p.Parts); err != nil {
				return err
			}
		}
		key, bodyHash := c.Prompt.Idempotency.values()
		rows = append(rows, row{i, []any{text(string(p.ID)), head.tenant, string(c.Execution), head.lastSeq, text(p.Text),
			string(p.WhenBusy), by, p.Created.UnixMicro(), key, bodyHash, edited, document, options, parts}})
	}
	return b.writeRows(`id text, tenant text, execution text, seq bigint, content text, when_busy text, actor text,
		created bigint, key text, body_hash bytea, edited bigint, document text, options text, parts text`, rows, domain.Errorf(domain.CodeConflict, "There is a prompt with this id."), `
		insert into prompts (id, tenant_id, execution_id, seq, text, when_busy, by, created_us, state, idempotency_key,
			body_hash, edit_generation, edit_document, options, parts)
		select id, tenant, execution, seq, content, when_busy, actor, created, 'queued', key, body_hash, edited, document, options, parts
		from v where true on conflict do nothing returning id`)
}

func editValues(e *domain.Edit) (generation, document any, err error) {
	if e == nil {
		return nil, nil, nil
	}
	document, err = encodeOptional(e.Document)
	return int64(e.Generation), document, err
}

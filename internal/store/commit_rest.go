package store

import (
	"signoff/internal/domain"
)

// promised is what clients were promised of an execution that is about to become idle or to end.
type promised struct {
	execution domain.ExecutionID
	queued    bool // a prompt waits
	accepted  bool // its blocks were accepted
}

// refuseLosses refuses to let an execution become idle or end while a prompt waits, and to let it end if its driver does not know that its blocks were
// accepted: a client whose request was acknowledged meanwhile would lose it.
func (b *batch) refuseLosses() error {
	var rows []row
	for i, c := range b.live {
		if u := c.Update; u != nil && c.Create == nil && rests(u.Status) {
			rows = append(rows, row{i, []any{string(c.Execution)}})
		}
	}
	promises, err := ask(b, `id text`, rows, func(row scanner) (p promised, err error) {
		return p, row.Scan(&p.execution, &p.queued, &p.accepted)
	}, `
		select v.id, exists (select 1 from prompts p where p.execution_id = v.id and p.state = 'queued'),
			exists (select 1 from generations g where g.execution_id = v.id and g.state = 'accepted')
		from v`)
	if err != nil {
		return err
	}
	for _, p := range promises {
		i := b.places[p.execution]
		if why := p.refusal(b.changes[i].Update); why != nil {
			b.refuse(i, why)
		}
	}
	return nil
}

func rests(status domain.Status) bool { return status == domain.StatusIdle || status.Terminal() }

func (p promised) refusal(u *Update) error {
	switch {
	case p.queued:
		return stale("A prompt of the execution is queued.")
	case p.accepted && u.Status.Terminal() && !u.Accepted:
		return stale("Blocks of the execution were accepted.")
	}
	return nil
}

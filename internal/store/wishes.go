package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Wishes is what others want of an execution, for its driver.
type Wishes struct {
	Cancel  *CancelRequest        // nil where nobody wants it, and so are
	Close   *domain.Actor         // who closed it
	Resume  *ResumeRequest        // how it is to go on
	Prompts []domain.QueuedPrompt // in the order of their turns: first those that interrupt
}

// Wishes reads all wishes at one moment. It asks for no tenant: who calls drives the execution.
func (s *Store) Wishes(ctx context.Context, id domain.ExecutionID) (Wishes, error) {
	rows, err := collect(ctx, s.read, scanWish, `
		select e.cancel, e.close_by, e.resume, `+promptColumns+`
		from executions e left join prompts p on p.execution_id = e.id and p.state = 'queued'
		where e.id = $1
		order by case when p.when_busy = 'interrupt' then 0 else 1 end, p.seq`, text(string(id)))
	if err != nil {
		return Wishes{}, s.failed("read wishes", err)
	}
	if len(rows) == 0 {
		return Wishes{}, notFound("execution")
	}
	all := rows[0]
	for _, row := range rows[1:] {
		all.Prompts = append(all.Prompts, row.Prompts...)
	}
	return all, nil
}

// scanWish reads the wishes with one of the prompts.
func scanWish(row scanner) (w Wishes, err error) {
	var cancel, closed, resume sql.NullString
	p, err := scanPrompt(scanFirst{scanFirst{scanFirst{row, &cancel}, &closed}, &resume})
	if err != nil {
		return w, err
	}
	if p != nil {
		w.Prompts = []domain.QueuedPrompt{*p}
	}
	if w.Cancel, err = optional[CancelRequest]("cancel", cancel); err != nil {
		return w, err
	}
	if w.Close, err = optional[domain.Actor]("close_by", closed); err != nil {
		return w, err
	}
	w.Resume, err = optional[ResumeRequest]("resume", resume)
	return w, err
}

package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// ControlRequests are the requests of others that the driver of an execution has to carry out.
type ControlRequests struct {
	Cancel   *CancelRequest        // nil without a request, as are the next two
	Close    *domain.Actor         // who closed it
	Resume   *ResumeRequest        // how to resume it
	Rollback *domain.Rollback      // the rollback that has not ended; nil: there is none
	Prompts  []domain.QueuedPrompt // in the order of their turns: first those that interrupt
}

// ControlRequests reads all control requests at one moment. It asks for no tenant: the caller drives the execution.
func (s *Store) ControlRequests(ctx context.Context, id domain.ExecutionID) (ControlRequests, error) {
	rows, err := collect(ctx, s.read, scanControlRequests, `
		select e.cancel, e.close_by, e.resume, `+promptColumns+`
		from executions e left join prompts p on p.execution_id = e.id and p.state = 'queued'
		where e.id = $1
		order by case when p.when_busy = 'interrupt' then 0 else 1 end, p.seq`, text(string(id)))
	if err != nil {
		return ControlRequests{}, s.failed("read control requests", err)
	}
	if len(rows) == 0 {
		return ControlRequests{}, notFound("execution")
	}
	all := rows[0]
	if all.Rollback, err = s.OpenRollback(ctx, id); err != nil {
		return ControlRequests{}, err
	}
	for _, row := range rows[1:] {
		all.Prompts = append(all.Prompts, row.Prompts...)
	}
	return all, nil
}

// scanControlRequests reads the control requests with one of the prompts.
func scanControlRequests(row scanner) (w ControlRequests, err error) {
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

package store

import (
	"database/sql"
	"errors"
	"slices"

	"signoff/internal/domain"
)

// admitResumes refuses the choices for executions that do not wait for one, or that already have another.
func (b *batch) admitResumes() error {
	var rows []row
	for i, c := range b.live {
		if c.Resume != nil {
			rows = append(rows, row{i, []any{string(c.Execution)}})
		}
	}
	type standing struct {
		execution domain.ExecutionID
		status    domain.Status
		cause     domain.InterruptCause
		source    domain.SourceType
		chosen    *ResumeRequest
	}
	standings, err := ask(b, `id text`, rows, func(row scanner) (s standing, err error) {
		var cause, chosen sql.NullString
		if err := row.Scan(&s.execution, &s.status, &cause, &s.source, &chosen); err != nil {
			return s, err
		}
		s.cause = domain.InterruptCause(cause.String)
		s.chosen, err = optional[ResumeRequest]("resume", chosen)
		return s, err
	}, ` select e.id, e.status, `+interruptCause+`, e.source_type, e.resume from v join executions e on e.id = v.id`)
	if err != nil {
		return err
	}
	for _, s := range standings {
		i := b.places[s.execution]
		mode := b.changes[i].Resume.Mode
		switch {
		case s.status != domain.StatusInterrupted:
			b.refuse(i, domain.Errorf(domain.CodeNotInterrupted,
				"The execution is not interrupted: there is nothing to choose."))
		case !slices.Contains(s.cause.ResumeModes(s.source), mode):
			b.refuse(i, domain.Invalid("/mode", "An execution that was interrupted with the cause %s cannot be resumed with %s.", s.cause, mode))
		case s.chosen != nil && s.chosen.Mode != mode:
			b.refuse(i, domain.Errorf(domain.CodeConflict, "Somebody has already chosen otherwise: %s.", s.chosen.Mode))
		}
	}
	return nil
}

// writeControlRequests keeps the first request of each kind; a later one changes nothing and is no error.
func (b *batch) writeControlRequests() error {
	var rows []row
	for i, c := range b.live {
		if c.Cancel == nil && c.closer() == nil && c.Resume == nil {
			continue
		}
		cancel, err1 := encodeOptional(c.Cancel)
		closer, err2 := encodeOptional(c.closer())
		resume, err3 := encodeOptional(c.Resume)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		rows = append(rows, row{i, []any{string(c.Execution), cancel, closer, resume}})
	}
	return b.insert(`id text, cancel text, close_by text, resume text`, rows, `
		update executions as e set
			cancel = coalesce(e.cancel, v.cancel),
			close_by = coalesce(e.close_by, v.close_by),
			resume = coalesce(e.resume, v.resume),
			updated_us = now_us()
		from v where e.id = v.id and (e.cancel is null and v.cancel is not null
			or e.close_by is null and v.close_by is not null or e.resume is null and v.resume is not null)`)
}

// closer closes the execution, by a request or by accepting its blocks; nil: nobody.
func (c *Change) closer() *domain.Actor {
	if c.Close == nil && c.Accept != nil {
		return &c.Accept.By
	}
	return c.Close
}

package dispatch

import (
	"context"
	"errors"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/workspace/folders"
)

// Fetches fetches the branches of clones into the repositories of users, and records who asked for it. Several goroutines may call its methods at once.
type Fetches struct {
	folders *folders.Folders
	audit   AuditLog
}

// AuditLog writes audit records of acts outside the database, which no transaction can hold.
type AuditLog interface {
	AppendAudit(ctx context.Context, tenant domain.TenantID, records ...domain.AuditRecord) error
}

// NewFetches returns the fetches from these folders.
func NewFetches(from *folders.Folders, records AuditLog) *Fetches { return &Fetches{from, records} }

// PreviewFetch returns what Fetch would fetch.
func (f *Fetches) PreviewFetch(ctx context.Context, execution domain.Execution) (folders.Fetch, error) {
	return f.folders.PreviewFetch(ctx, execution)
}

// Fetch fetches the branch of a clone, if its newest commit is the one that a preview has shown. It writes two audit records: one before git starts, since no
// transaction of the database can hold the work of git, and one with the result.
//
// Errors: CodePreviewOutdated; CodeConflict (there is no clone, or the repository has another branch of that name).
func (f *Fetches) Fetch(ctx context.Context, execution domain.Execution, commit string, by domain.Actor) (folders.Fetch, error) {
	if err := f.audit.AppendAudit(ctx, execution.Tenant, audit.Fetch(execution, audit.FetchRequested, commit, by, nil)); err != nil {
		return folders.Fetch{}, err
	}
	found, err := f.folders.Fetch(ctx, execution, commit)
	ended := audit.Fetch(execution, audit.FetchEnded, commit, by, err)
	return found, errors.Join(err, f.audit.AppendAudit(context.WithoutCancel(ctx), execution.Tenant, ended))
}

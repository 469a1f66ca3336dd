package store

import (
	"context"
	"strings"

	"signoff/internal/domain"
)

// ownFolder returns the value of the column own_folder for a request; nil: it has no own folder.
func ownFolder(request domain.Request) any {
	switch {
	case request.OwnFolder == nil:
		return nil
	case request.OwnFolder.Keep:
		return "kept"
	default:
		return "removed"
	}
}

// OwnFolders returns the state of each of these executions that exists, in all tenants. A deleted execution exists until its last row is removed.
func (s *Store) OwnFolders(ctx context.Context, ids []domain.ExecutionID) (map[domain.ExecutionID]domain.OwnFolderState, error) {
	states := map[domain.ExecutionID]domain.OwnFolderState{}
	if len(ids) == 0 {
		return states, nil
	}
	var where conditions
	in(&where, `e.id`, ids)
	_, err := selectAll(ctx, s, "read what becomes of the folders of executions", func(row scanner) (id domain.ExecutionID, err error) {
		var removed, ended bool
		err = row.Scan(&id, &ended, &removed)
		states[id] = domain.OwnFolderState{Ended: ended, Keep: !removed}
		return id, err
	}, `select e.id, e.ended_us is not null, coalesce(e.own_folder, '') = 'removed' from executions e where `+where.String(), where.args...)
	return states, err
}

// inFolder is true for an execution e that works in the folder $1 or below; $2 is the [below] of $1. aroundFolder is true for one that works in a folder around
// $1.
const (
	inFolder     = `(e.working_directory = $1 or substr(e.working_directory, 1, length($2)) = $2)`
	aroundFolder = `substr(cast($1 as text), 1, length(e.working_directory) + 1) = e.working_directory || '/'`
)

// WorksIn reports whether a live execution of any tenant works in a folder or below.
func (s *Store) WorksIn(ctx context.Context, folder string) (bool, error) {
	found, err := selectAll(ctx, s, "read who works in a folder", scanValue[domain.ExecutionID], `
		select e.id from executions e where e.ended_us is null and `+inFolder+` limit 1`, text(folder), text(below(folder)))
	return len(found) > 0, err
}

// below returns the prefix of all paths in a folder.
func below(folder string) string { return strings.TrimSuffix(folder, "/") + "/" }

// Neighbours returns up to limit live executions of the tenant that work in the folder of an execution, in a folder in it, or in a folder around it; the newest
// first. It leaves out the executions of the same tree.
func (s *Store) Neighbours(ctx context.Context, of domain.Execution, limit int) ([]domain.ExecutionID, error) {
	folder := of.Request.WorkingDirectory
	return selectAll(ctx, s, "read who works in a folder", scanValue[domain.ExecutionID], `
		select e.id`+executionTables+`where e.tenant_id = $3 and e.ended_us is null and `+kept+` and coalesce(e.root_id, e.id) <> $4
			and (`+inFolder+` or `+aroundFolder+`)
		order by e.created_us desc, e.id desc limit $5`,
		text(folder), text(below(folder)), text(string(of.Tenant)), text(string(of.Root())), limit)
}

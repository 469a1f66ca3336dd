package store

import (
	"context"
	"path"
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

// addBelow adds the condition that an execution e works below a folder. The paths below begin with the folder and a slash; '0' is the character behind the slash.
func addBelow(places *conditions, folder string) {
	stem := strings.TrimSuffix(folder, "/")
	places.add(`e.working_directory > $%d and e.working_directory < $%d`, text(stem+"/"), text(stem+"0"))
}

// WorksIn reports whether a live execution of any tenant works in a folder or below.
func (s *Store) WorksIn(ctx context.Context, folder string) (bool, error) {
	var places conditions
	places.add(`e.working_directory = $%d`, text(folder))
	addBelow(&places, folder)
	const live = `select e.id from executions e where e.ended_us is null and `
	found, err := selectAll(ctx, s, "read who works in a folder", scanValue[domain.ExecutionID],
		live+strings.Join(places.parts, ` union all `+live)+` limit 1`, places.args...)
	return len(found) > 0, err
}

// around returns a folder and the folders around it.
func around(folder string) []string {
	all := []string{folder}
	for above := path.Dir(folder); above != folder && above != "."; above = path.Dir(folder) {
		all = append(all, above)
		folder = above
	}
	return all
}

// readPerFolder bounds how many executions in one folder a look at the neighbours reads. Ten thousand may wait there for their approvals.
const readPerFolder = 200

// Neighbours returns up to limit live executions of the tenant that work in the folder of an execution, in a folder in it, or in a folder around it; the newest
// first, or the newest of some where there are hundreds. It leaves out the executions of the same tree.
//
// Each start of an execution asks for them. So there is one bounded reading of an index of the live executions for each folder: a single condition for all folders
// read every execution of the tenant, and an index in the order of time kept the entries of the ended executions of Postgres until the next vacuum.
func (s *Store) Neighbours(ctx context.Context, of domain.Execution, limit int) ([]domain.ExecutionID, error) {
	if of.Request.WorkingDirectory == "" {
		return nil, nil
	}
	places := conditions{args: []any{text(string(of.Tenant)), text(string(of.Root())), limit, readPerFolder}}
	addBelow(&places, of.Request.WorkingDirectory)
	for _, folder := range around(of.Request.WorkingDirectory) {
		places.add(`e.working_directory = $%d`, text(folder))
	}
	readings := make([]string, len(places.parts))
	for i, place := range places.parts {
		readings[i] = `select * from (select e.id, e.created_us` + executionTables + `
			where e.ended_us is null and e.tenant_id = $1 and ` + kept + ` and coalesce(e.root_id, e.id) <> $2 and ` + place + ` limit $4) r`
	}
	return selectAll(ctx, s, "read who works in a folder", scanValue[domain.ExecutionID],
		`select id from (`+strings.Join(readings, ` union all `)+`) found order by created_us desc, id desc limit $3`, places.args...)
}

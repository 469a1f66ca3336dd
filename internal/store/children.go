package store

import (
	"context"
	"database/sql"

	"signoff/internal/domain"
)

// Children returns the children of an execution in the order in which they were created, deleted ones included. It takes no tenant: the caller drives
// the parent. An idle child whose own children are not done is live: their results open a further turn of it.
func (s *Store) Children(ctx context.Context, parent domain.ExecutionID) ([]domain.Child, error) {
	return selectAll(ctx, s, "read the children of an execution", scanChild, `
		select c.execution_id, c.parent_id, c.root_id, c.tool_call_id, c.name, e.status, c.rests, c.taken, c.result,
			exists (select 1 from prompts p where p.execution_id = c.execution_id and p.state = 'queued')
				or e.status = 'idle' and exists (select 1 from children g join executions ge on ge.id = g.execution_id
					where g.parent_id = c.execution_id and (g.rests > g.taken or ge.ended_us is null and ge.status <> 'idle'))
		from children c join executions e on e.id = c.execution_id
		where c.parent_id = $1 order by e.created_us, e.id`, text(string(parent)))
}

func scanChild(row scanner) (c domain.Child, err error) {
	var (
		result   sql.NullString
		prompted bool
	)
	if err := row.Scan(&c.Execution, &c.Parent, &c.Root, &c.ToolCallID, &c.Name, &c.Status, &c.Rests, &c.Taken, &result, &prompted); err != nil {
		return c, err
	}
	c.Live = prompted || !rests(c.Status)
	return c, decodeOptional("result", result, &c.Result)
}

// Tree returns a root and the executions below it, in the order in which they were created.
func (s *Store) Tree(ctx context.Context, tenant domain.TenantID, root domain.ExecutionID) ([]domain.Execution, error) {
	tree, err := selectAll(ctx, s, "read a tree of executions", scanExecution, `select `+executionColumns+executionTables+`
		where e.tenant_id = $2 and (e.id = $1 and e.root_id is null or e.root_id = $1) and `+kept+`
		order by e.root_id is not null, e.created_us, e.id`, text(string(root)), text(string(tenant)))
	if err == nil && (len(tree) == 0 || tree[0].ID != root) {
		return nil, notFound("root")
	}
	return tree, err
}

// Below returns the ids of the executions below a root, deleted ones included.
func (s *Store) Below(ctx context.Context, root domain.ExecutionID) ([]domain.ExecutionID, error) {
	return selectAll(ctx, s, "read what is below a root", scanValue[domain.ExecutionID],
		`select execution_id from children where root_id = $1 order by execution_id`, text(string(root)))
}

// TreeSize counts the executions below a root.
func (s *Store) TreeSize(ctx context.Context, root domain.ExecutionID) (int, error) {
	return selectFirst(ctx, s, "count the executions of a tree", scanValue[int], `select count(*) from children where root_id = $1`, text(string(root)))
}

package store

import (
	"context"
	"database/sql"
	"errors"

	"signoff/internal/domain"
)

// ExecutionFilter chooses from the executions of a tenant. Zero values choose all roots.
type ExecutionFilter struct {
	Parent     domain.ExecutionID // only its children, instead of roots
	Root       domain.ExecutionID // only its tree, itself included, instead of roots
	All        bool               // roots and children
	Status     []domain.Status
	SourceType domain.SourceType
	Agent      string // the name of an external agent
	RunbookID  string
	BlockID    string // that started it
	Kind       domain.Kind
	Latest     Latest
	Cursor     string // Next of the page before
	Limit      int
}

// Latest chooses the newest of several executions.
type Latest string

const (
	LatestOfRunbook Latest = "runbook_id" // each runbook, with its newest execution
	LatestOfBlock   Latest = "block_id"   // each block of each runbook, with its newest execution that has ended
)

const executionColumns = `e.id, e.tenant_id, e.request, e.status, e.turn, e.rounds, e.usage, e.output, h.last_seq,
	e.created_us, e.updated_us, e.ended_us, e.created_by, e.agent_session, h.recoveries, ` + interruptCause + `, ` + recoversAt

// recoversAt is null unless a driver was lost and nobody drives the execution.
const recoversAt = `case when h.owner is null and h.ended = 0 and h.queued_us is null and h.recoveries > 0 then h.wake_us end`

// interruptCause is null unless the execution is interrupted. A binary of schema 8 writes no cause, because only processes of external agents were
// lost then, and it does not clear the cause when the execution continues.
const interruptCause = `case when e.status = 'interrupted' then coalesce(e.cause, 'processGone') end`

const executionTables = ` from executions e join execution_heads h on h.execution_id = e.id `

// kept excludes deleted executions, see [Store.Delete]: only their drivers still see them.
const kept = `h.deleted_us is null`

// keptIn is kept for a table whose rows belong to executions. No planner turns it into a join, so a page costs one lookup of a head for each row.
func keptIn(table string) string {
	return `(select h.deleted_us from execution_heads h where h.execution_id = ` + table + `.execution_id) is null`
}

func scanExecution(row scanner) (domain.Execution, error) {
	var (
		e                domain.Execution
		request, usage   string
		output           sql.NullString
		created, updated int64
		ended            sql.NullInt64
		cause            sql.NullString
		recovers         sql.NullInt64
	)
	err := row.Scan(&e.ID, &e.Tenant, &request, &e.Status, &e.Turn, &e.Rounds, &usage, &output, &e.LastSeq,
		&created, &updated, &ended, &e.ByKey, &e.AgentSession, &e.Recovery, &cause, &recovers)
	if err != nil {
		return e, err
	}
	e.Cause = domain.InterruptCause(cause.String)
	e.Created, e.Updated, e.Ended = timeOf(created), timeOf(updated), optionalTime(ended)
	e.RecoversAt = optionalTime(recovers)
	if output.Valid {
		e.Output = new(domain.Output)
		err = decode("output", outputFromRow(output.String), e.Output)
	}
	return e, errors.Join(err, decode("request", request, &e.Request), decode("usage", usage, &e.Usage))
}

// Execution returns one execution. One of another tenant is not found.
func (s *Store) Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error) {
	e, err := one(ctx, s.read, scanExecution,
		`select `+executionColumns+executionTables+`where e.id = $1 and e.tenant_id = $2 and `+kept, text(string(id)), text(string(tenant)))
	return e, s.found(err, "execution")
}

// HeadOf is the head of an execution of a tenant: all that a reader of its log needs, without the request and the output.
func (s *Store) HeadOf(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (Head, error) {
	head, err := one(ctx, s.read, scanHead,
		`select `+headColumns+` from execution_heads h where h.execution_id = $1 and h.tenant_id = $2 and `+kept, text(string(id)), text(string(tenant)))
	return head, s.found(err, "execution")
}

// ExecutionByKey returns the execution that was created under an idempotency key, and the hash of the body that came
// with it.
func (s *Store) ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (domain.Execution, []byte, error) {
	var bodyHash []byte
	e, err := one(ctx, s.read, func(row scanner) (domain.Execution, error) {
		return scanExecution(scanFirst{row, &bodyHash})
	}, `select k.body_hash, `+executionColumns+executionTables+
		`join idempotency_keys k on k.execution_id = e.id where k.tenant_id = $1 and k.key = $2 and `+kept, text(string(tenant)), text(key))
	return e, bodyHash, s.found(err, "idempotency key")
}

// scanFirst is a row with one column before those that the scanning function knows.
type scanFirst struct {
	row   scanner
	first any
}

func (s scanFirst) Scan(into ...any) error { return s.row.Scan(append([]any{s.first}, into...)...) }

// Executions lists the executions of a tenant, the newest first.
func (s *Store) Executions(ctx context.Context, tenant domain.TenantID, filter ExecutionFilter) (Page[domain.Execution], error) {
	var where conditions
	where.add(`e.tenant_id = $%d and `+kept, text(string(tenant)))
	filter.inTree(&where)
	in(&where, `e.status`, filter.Status)
	if filter.SourceType != "" {
		where.add(`e.source_type = $%d`, text(string(filter.SourceType)))
	}
	if filter.Agent != "" {
		where.add(`e.agent = $%d`, text(filter.Agent))
	}
	if filter.RunbookID != "" {
		where.add(`e.runbook_id = $%d`, text(filter.RunbookID))
	}
	if filter.BlockID != "" {
		where.add(`e.block_id = $%d`, text(filter.BlockID))
	}
	if filter.Kind != "" {
		where.add(`e.kind = $%d`, text(string(filter.Kind)))
	}
	if filter.Latest != "" {
		where.add(newestOf(filter.Latest))
	}
	return executionList.page(ctx, s, `select `+executionColumns+executionTables, where, filter.Cursor, filter.Limit)
}

// inTree chooses by the place of an execution in its tree.
func (f ExecutionFilter) inTree(where *conditions) {
	if f.Parent != "" {
		where.add(`e.parent_id = $%d`, text(string(f.Parent)))
	}
	if f.Root != "" {
		where.add(`(e.root_id = $%d or e.id = $%d and e.root_id is null)`, text(string(f.Root)), text(string(f.Root)))
	}
	if f.Parent == "" && f.Root == "" && !f.All {
		where.add(`e.root_id is null`)
	}
}

// newestOf excludes executions with a newer one of the same runbook or block, not counting children. It looks each up in the index of that column.
func newestOf(of Latest) string {
	column, ended, same := string(of), func(string) string { return "" }, ""
	if of == LatestOfBlock { // a copied document has the ids of the first one
		ended = func(table string) string { return ` and ` + table + `.ended_us is not null` }
		same = ` and n.runbook_id = e.runbook_id`
	}
	return `e.` + column + ` is not null` + ended("e") + ` and not exists (
		select 1 from executions n join execution_heads nh on nh.execution_id = n.id
		where n.tenant_id = e.tenant_id and n.` + column + ` = e.` + column + same + ` and (n.created_us, n.id) > (e.created_us, e.id)
			and n.root_id is null and nh.deleted_us is null` + ended("n") + `)`
}

var executionList = listing[domain.Execution]{
	name: "executions", place: "e.created_us, e.id", desc: true, scan: scanExecution,
	of: func(e domain.Execution) (int64, string) { return e.Created.UnixMicro(), string(e.ID) },
}

// LiveAt returns the executions at a place that have not ended, and whose blocks were not accepted, the oldest first by the database's clock: the
// clock of a fast replica would make all its executions the newest. The caller that creates executions at a place must keep them few; the store
// does not limit them.
func (s *Store) LiveAt(ctx context.Context, tenant domain.TenantID, place string) ([]domain.ExecutionID, error) {
	return selectAll(ctx, s, "list the executions at a place", scanValue[domain.ExecutionID], `
		select id`+executionTables+`where e.tenant_id = $1 and place = $2 and ended_us is null and `+kept+`
			and not exists (select 1 from generations g where g.execution_id = e.id and g.state = 'accepted')
		order by placed_us, id`,
		text(string(tenant)), text(place))
}

// lockDriven locks the head of an execution for a writer under an epoch, with the conditions of takeHeads: nobody else can acquire the
// execution until tx ends.
func (s *Store) lockDriven(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, id domain.ExecutionID, epoch int64) error {
	_, err := one(ctx, tx, scanValue[string], `select execution_id from execution_heads
		where execution_id = $1 and tenant_id = $2 and epoch = $3 and ended = 0`+s.dialect.lock,
		text(string(id)), text(string(tenant)), epoch)
	if errors.Is(err, sql.ErrNoRows) {
		return errNotDriven
	}
	return err
}

// found turns a missing row into the error for a client.
func (s *Store) found(err error, noun string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return notFound(noun)
	default:
		return s.failed("read "+noun, err)
	}
}

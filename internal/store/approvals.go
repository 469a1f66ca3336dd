package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"signoff/internal/domain"
)

// ApprovalFilter chooses from the approvals of a tenant. Zero values choose all.
type ApprovalFilter struct {
	Execution domain.ExecutionID
	Root      domain.ExecutionID // approvals of its tree, itself included
	Status    []domain.ApprovalStatus
	Cursor    string // Next of the page before
	Limit     int
}

const approvalColumns = `id, tenant_id, execution_id, kind, call_id, tool, tool_version, class, arguments, summary,
	working_directory, arguments_hash, status, requested_us, expires_us, decision, decided_arguments,
	decided_answer, resolved_us, options, question, asked_by, reason, remember_options, isolation, mcp, mcp_definition, runbook_id, block_id, tool_description,
	(select c.root_id from children c where c.execution_id = approvals.execution_id),
	(select c.path from children c where c.execution_id = approvals.execution_id)`

// storedIsolation is the column isolation: the confinement of the call, the folders that it sees, and its reversibility.
type storedIsolation struct {
	Name        string                      `json:"name,omitempty"` // empty: the call runs no program
	Environment *domain.ApprovalEnvironment `json:"environment,omitempty"`
	domain.Reversibility
}

func encodeIsolation(a *domain.Approval) (any, error) {
	stored := storedIsolation{Environment: a.Environment, Reversibility: a.Reversibility}
	if a.Isolation != nil {
		stored.Name = a.Isolation.Name
	}
	if stored == (storedIsolation{}) {
		return nil, nil //nolint:nilnil // null in the row
	}
	return encode(stored)
}

func decodeIsolation(column sql.NullString, a *domain.Approval) error {
	var stored *storedIsolation
	if err := decodeOptional("isolation", column, &stored); err != nil || stored == nil {
		return err
	}
	a.Environment, a.Reversibility = stored.Environment, stored.Reversibility
	if stored.Name != "" {
		a.Isolation = &domain.Isolation{Name: stored.Name}
	}
	return nil
}

// decodeTool reads what the approval shows of the tool of an MCP server, and the tool of its call.
func decodeTool(column, definition sql.NullString, a *domain.Approval) error {
	if err := decodeOptional("mcp", column, &a.MCP); err != nil || a.MCP == nil {
		return err
	}
	tool := a.MCP.MCPTool
	tool.Canonical = rawJSON(definition.String)
	a.Call.MCP = &tool
	return nil
}

func encodeTool(a *domain.Approval) (shown, definition any, err error) {
	if a.MCP == nil {
		return nil, nil, nil
	}
	if a.Call.MCP != nil {
		definition = optionalText(string(a.Call.MCP.Canonical))
	}
	shown, err = encode(a.MCP)
	return shown, definition, err
}

func scanApproval(row scanner) (domain.Approval, error) {
	var (
		a                           domain.Approval
		arguments                   string
		requested                   int64
		expires, resolved           sql.NullInt64
		options, question, decision sql.NullString
		decidedArguments, answer    sql.NullString
		remember, isolation         sql.NullString
		tool, definition            sql.NullString
		runbook, block, about       sql.NullString
		root, path                  sql.NullString
	)
	err := row.Scan(&a.ID, &a.Tenant, &a.Execution, &a.Kind, &a.Call.ID, &a.Call.Tool, &a.Call.Version, &a.Call.Class,
		&arguments, &a.Call.Summary, &a.WorkingDirectory, &a.ArgumentsHash, &a.Status, &requested, &expires,
		&decision, &decidedArguments, &answer, &resolved, &options, &question, &a.AskedBy, &a.Reason, &remember, &isolation,
		&tool, &definition, &runbook, &block, &about, &root, &path)
	if err != nil {
		return a, err
	}
	if err := errors.Join(decodeOptional("remember_options", remember, &a.RememberOptions), decodeIsolation(isolation, &a), decodeTool(tool, definition, &a),
		decodeOptional("path", path, &a.Path)); err != nil {
		return a, err
	}
	a.Root = domain.ExecutionID(root.String)
	a.RunbookID, a.BlockID, a.Call.Description = runbook.String, block.String, about.String
	a.Call.Arguments, a.Options, a.Question = rawJSON(arguments), rawJSON(options.String), rawJSON(question.String)
	a.Requested, a.Expires, a.Resolved = timeOf(requested), optionalTime(expires), optionalTime(resolved)
	if !decision.Valid {
		return a, nil
	}
	a.Decision = new(domain.Decision)
	err = decode("decision", decision.String, a.Decision)
	a.Decision.Arguments, a.Decision.Answer = rawJSON(decidedArguments.String), rawJSON(answer.String)
	return a, err
}

// Approval returns one approval. One of another tenant is not found.
func (s *Store) Approval(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID) (domain.Approval, error) {
	a, err := one(ctx, s.read, scanApproval,
		`select `+approvalColumns+` from approvals where id = $1 and tenant_id = $2 and `+keptIn("approvals"), text(string(id)), text(string(tenant)))
	return a, s.found(err, "approval")
}

// Approvals lists the approvals of a tenant as an inbox: what has waited longest comes first.
func (s *Store) Approvals(ctx context.Context, tenant domain.TenantID, filter ApprovalFilter) (Page[domain.Approval], error) {
	var where conditions
	where.add(`tenant_id = $%d and `+keptIn("approvals"), text(string(tenant)))
	in(&where, `status`, filter.Status)
	if filter.Execution != "" {
		where.add(`execution_id = $%d`, text(string(filter.Execution)))
	}
	if filter.Root != "" {
		root := text(string(filter.Root))
		where.add(`(execution_id = $%d or execution_id in (select c.execution_id from children c where c.root_id = $%d))`, root, root)
	}
	return approvalList.page(ctx, s, `select `+approvalColumns+` from approvals`, where, filter.Cursor, filter.Limit)
}

var approvalList = listing[domain.Approval]{
	name: "approvals", place: "requested_us, id", scan: scanApproval,
	of: func(a domain.Approval) (int64, string) { return a.Requested.UnixMicro(), string(a.ID) },
}

// ApprovalsOf returns all approvals of an execution, the oldest first. It asks for no tenant: the caller drives it.
func (s *Store) ApprovalsOf(ctx context.Context, execution domain.ExecutionID) ([]domain.Approval, error) {
	return selectAll(ctx, s, "read the approvals of an execution", scanApproval,
		`select `+approvalColumns+` from approvals where execution_id = $1 order by requested_us, id`, text(string(execution)))
}

// Now is the time of the database: of expiries and leases.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	now, err := selectFirst(ctx, s, "read the clock", scanValue[int64], `select now_us()`)
	return timeOf(now), err
}

package store

import (
	"cmp"
	"slices"

	"signoff/internal/domain"
)

// resolveApprovals ends pending approvals: the first who comes here wins. A decision must be in time and an expiry must
// be due, both by the clock of the database; a withdrawal is possible at any time.
func (b *batch) resolveApprovals() error {
	var rows []row
	for i, c := range b.live {
		for _, r := range c.Resolve {
			decision, err := decisionValues(r.Decision)
			if err != nil {
				return err
			}
			values := []any{text(string(r.Approval)), string(c.Execution), string(r.Status)}
			rows = append(rows, row{i, append(values, decision...)})
		}
	}
	slices.SortStableFunc(rows, byID)
	return b.writeRows(`target text, execution text, status text, decision text, arguments text, answer text`, rows, stale("The approval is not pending any more, or it is not the time for this."), `,
		locked as (
			select v.target, v.execution, v.status, v.decision, v.arguments, v.answer
			from v join approvals on id = v.target
			order by id`+b.store.dialect.lock+`)
		update approvals as a set
			status = v.status, decision = v.decision, decided_arguments = v.arguments,
			decided_answer = v.answer, resolved_us = now_us()
		from locked as v
		where a.id = v.target and a.execution_id = v.execution and a.status = 'pending' and case v.status
			when 'cancelled' then true
			when 'expired' then a.expires_us <= now_us()
			else a.expires_us is null or a.expires_us > now_us() end
		returning id`)
}

func byID(a, b row) int { return cmp.Compare(a.values[0].(string), b.values[0].(string)) }

// decisionValues keeps the decider's arguments and answer apart from the rest: encoding would change their bytes.
func decisionValues(d *domain.Decision) ([]any, error) {
	if d == nil {
		return []any{nil, nil, nil}, nil
	}
	rest := *d
	rest.Arguments, rest.Answer = nil, nil
	decision, err := encode(rest)
	return []any{decision, optionalText(string(d.Arguments)), optionalText(string(d.Answer))}, err
}

func (b *batch) askApprovals() error {
	var rows []row
	for i, c := range b.live {
		for j := range c.Ask {
			values, err := approvalValues(&c.Ask[j])
			if err != nil {
				return err
			}
			rows = append(rows, row{i, append(values, b.heads[c.Execution].tenant, string(c.Execution))})
		}
	}
	return b.writeRows(`id text, kind text, call_id text, tool text, tool_version text, class text, arguments text,
		summary text, working_directory text, arguments_hash text, requested bigint, expires bigint, options text,
		question text, asked_by text, reason text, remember text, isolation text, mcp text,
		mcp_definition text, runbook text, block text, about text, tenant text, execution text`, rows, domain.Errorf(domain.CodeConflict, "There is an approval with this id."), `
		insert into approvals (id, tenant_id, execution_id, kind, call_id, tool, tool_version, class, arguments, summary,
			working_directory, arguments_hash, status, requested_us, expires_us, options, question, asked_by, reason,
			remember_options, isolation, mcp, mcp_definition, runbook_id, block_id, tool_description)
		select id, tenant, execution, kind, call_id, tool, tool_version, class, arguments, summary,
			working_directory, arguments_hash, 'pending', requested, expires, options, question, asked_by, reason, remember,
			isolation, mcp, mcp_definition, runbook, block, about
		from v where true on conflict (id) do nothing returning id`)
}

func approvalValues(a *domain.Approval) ([]any, error) {
	values := []any{text(string(a.ID)), text(string(a.Kind)), text(a.Call.ID), text(a.Call.Tool), text(a.Call.Version),
		text(string(a.Call.Class)), text(string(a.Call.Arguments)), text(a.Call.Summary), text(a.WorkingDirectory),
		text(a.ArgumentsHash), a.Requested.UnixMicro(), micros(a.Expires), optionalText(string(a.Options)),
		optionalText(string(a.Question)), text(a.AskedBy), text(a.Reason)}
	isolation, err := encodeIsolation(a)
	if err != nil {
		return nil, err
	}
	tool, definition, err := encodeTool(a)
	if err != nil {
		return nil, err
	}
	var remember any
	if len(a.RememberOptions) > 0 {
		remember, err = encode(a.RememberOptions)
	}
	return append(values, remember, isolation, tool, definition, optionalText(a.RunbookID), optionalText(a.BlockID), optionalText(a.Call.Description)), err
}

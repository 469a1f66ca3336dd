package store

import (
	"cmp"
	"database/sql"
	"fmt"

	"signoff/internal/domain"
)

// brokenClients finds mistakes of the caller.
func brokenClients(c *Change) string {
	for _, closing := range c.CloseClient {
		if closing.To != domain.ClientCallExpired && closing.To != domain.ClientCallCancelled {
			return fmt.Sprintf("a client's call cannot be closed as %q", closing.To)
		}
	}
	return ""
}

// clientStanding is what decides whether an answer counts.
type clientStanding struct {
	execution domain.ExecutionID
	head      takenHead
	call      *domain.ClientCall // nil: there is none of that id
	over      bool               // its time
}

// admitAnswers refuses answers that are late, or that no call waits for. It also judges those for executions that have ended: a client repeats an
// answer whose success it did not see, and that answer may have ended the execution.
func (b *batch) admitAnswers() error {
	var rows []row
	for i, c := range b.readRepeats {
		if c.AnswerClient != nil {
			rows = append(rows, row{i, []any{string(c.Execution), text(c.AnswerClient.ToolCallID)}})
		}
	}
	standings, err := ask(b, `id text, call text`, rows, scanClientStanding, `
		select h.execution_id, h.last_seq, h.tenant_id, coalesce(c.expires_us <= now_us(), false), c.state, c.answer
		from v join execution_heads h on h.execution_id = v.id
			left join client_calls c on c.execution_id = v.id and c.call_id = v.call`)
	if err != nil {
		return err
	}
	for _, s := range standings {
		i := b.places[s.execution]
		b.judge(i, s.head, s.refusal(keptAnswer(b.changes[i].AnswerClient.Answer)))
	}
	return nil
}

func scanClientStanding(row scanner) (s clientStanding, err error) {
	var state, answer sql.NullString
	if err := row.Scan(&s.execution, &s.head.lastSeq, &s.head.tenant, &s.over, &state, &answer); err != nil || !state.Valid {
		return s, err
	}
	s.call = &domain.ClientCall{State: domain.ClientCallState(state.String)}
	s.call.Answer, err = optional[domain.ClientAnswer]("answer", answer)
	return s, err
}

func (s clientStanding) refusal(answer domain.ClientAnswer) error {
	switch {
	case s.call == nil:
		return notFound("call that waits for its client, or has waited")
	case s.call.State != domain.ClientCallWaiting:
		return cmp.Or(s.call.Refusal(answer), error(errDone))
	case s.over:
		return domain.Errorf(domain.CodeCallEnded, "The time for an answer to this call is over.")
	}
	return nil
}

// keptAnswer is an answer as it is read back.
func keptAnswer(answer domain.ClientAnswer) domain.ClientAnswer {
	answer.Output, answer.Error = text(answer.Output), text(answer.Error)
	return answer
}

// clientKey is an id of a client's call over all executions, to settle by: ids of calls are the model's, and repeat themselves.
// An id of an execution has no space.
func clientKey(c *Change, call string) string { return string(c.Execution) + " " + text(call) }

const returningClientKey = ` returning execution_id || ' ' || call_id`

func (b *batch) askClients() error {
	var rows []row
	for i, c := range b.live {
		for n, call := range c.AskClient {
			rows = append(rows, row{i, []any{clientKey(c, call.ToolCallID), string(c.Execution), text(call.ToolCallID),
				b.heads[c.Execution].tenant, int64(n), text(call.Tool), text(string(call.Arguments)), call.Asked.UnixMicro(),
				micros(call.Expires)}})
		}
	}
	return b.writeRows(`target text, id text, call text, tenant text, n bigint, tool text, arguments text, asked bigint,
		expires bigint`, rows, domain.Errorf(domain.CodeConflict, "There is a client's call with this id."), `
		insert into client_calls (execution_id, call_id, tenant_id, n, tool, arguments, state, asked_us, expires_us)
		select id, call, tenant, n + 1 + (select count(*) from client_calls c where c.execution_id = v.id),
			tool, arguments, 'waiting', asked, expires
		from v where true on conflict do nothing`+returningClientKey)
}

// closeClients ends the waiting. An answer at the last moment is not lost: the change is refused, and the driver reads the call again.
func (b *batch) closeClients() error {
	var rows []row
	for i, c := range b.live {
		for _, closing := range c.CloseClient {
			rows = append(rows, row{i, []any{clientKey(c, closing.ToolCallID), string(c.Execution), text(closing.ToolCallID),
				string(closing.To)}})
		}
	}
	return b.writeRows(`target text, id text, call text, become text`, rows, stale("The call does not wait for its client any more, or its time is not over."), `
		update client_calls as c set state = v.become, ended_us = now_us()
		from v where c.execution_id = v.id and c.call_id = v.call and c.state = 'waiting'
			and (v.become = 'cancelled' or c.expires_us <= now_us())`+returningClientKey)
}

// keepAnswers writes the admitted answers: while the heads are locked, nothing else ends the waiting.
func (b *batch) keepAnswers() error {
	var rows []row
	for i, c := range b.live {
		if c.AnswerClient == nil {
			continue
		}
		answer, err := encode(keptAnswer(c.AnswerClient.Answer))
		if err != nil {
			return err
		}
		rows = append(rows, row{i, []any{string(c.Execution), text(c.AnswerClient.ToolCallID), answer}})
	}
	return b.insert(`id text, call text, answer text`, rows, `
		update client_calls as c set state = 'answered', answer = v.answer, ended_us = now_us()
		from v where c.execution_id = v.id and c.call_id = v.call`)
}

// cancelClients cancels the calls of executions that end: nobody would read their answers.
func (b *batch) cancelClients() error {
	return b.insert(`id text`, b.ending(), `
		update client_calls as c set state = 'cancelled', ended_us = now_us()
		from v where c.execution_id = v.id and c.state = 'waiting'`)
}

// ending is the executions that end here.
func (b *batch) ending() (rows []row) {
	for i, c := range b.live {
		if c.Update != nil && c.Update.Status.Terminal() {
			rows = append(rows, row{i, []any{string(c.Execution)}})
		}
	}
	return rows
}

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
)

// Commit writes a batch of changes in one transaction, at most one change for each execution, linked ones included, and returns a result for each. A
// refused change leaves nothing; the others of the batch are written, but for those that are linked with it. An error means that
// nothing of the batch is in the database, except where it wraps [ErrCommitUnknown].
func (s *Store) Commit(ctx context.Context, changes []Change) ([]Result, error) {
	b := &batch{store: s, ctx: ctx, places: map[domain.ExecutionID]int{}, banned: map[int]error{}}
	b.changes, b.mains = flattened(changes)
	if err := b.check(); err != nil {
		return nil, err
	}
	if err := s.present(); err != nil {
		return nil, err
	}
	makeText(b.changes)
	for i, c := range b.changes {
		b.order, b.places[c.Execution] = append(b.order, i), i
	}
	slices.SortFunc(b.order, func(i, j int) int { return cmp.Compare(b.changes[i].Execution, b.changes[j].Execution) })
	if b.plain() {
		err := b.commitPlain()
		return b.results, err
	}
	for {
		err := s.retry(ctx, "commit changes", func() (fault, error) { return s.dialect.once(s, ctx, b.write) })
		switch {
		case err == nil:
			return b.linkedResults(), nil
		case !errors.Is(err, errAgain): // which comes at most once for each change
			return nil, err
		}
	}
}

// errAgain: a change was refused after something of it had been written, so the transaction starts again without it.
var errAgain = domain.Errorf(domain.CodeInternal, "a change was refused half-way")

// check finds mistakes of the caller.
func (b *batch) check() error {
	seen := make(map[domain.ExecutionID]bool, len(b.changes))
	for i := range b.changes {
		c := &b.changes[i]
		switch {
		case c.Execution == "" || string(c.Execution) != text(string(c.Execution)):
			return broken(c, "it names no execution")
		case seen[c.Execution]:
			return broken(c, "it is the second one of the execution in its batch")
		case c.Epoch < 0:
			return broken(c, "no driver has an epoch below 1")
		case c.Create != nil && c.Create.Execution.ID != c.Execution:
			return broken(c, "it creates another execution")
		case c.Create != nil && c.Epoch != 1:
			return broken(c, "it creates an execution under another epoch than 1")
		case c.Epoch == 0 && c.Update != nil:
			return broken(c, "it updates an execution without driving it")
		case c.Create != nil && !c.Create.Execution.Status.Known():
			return broken(c, fmt.Sprintf("there is no status %q", c.Create.Execution.Status))
		case c.Update != nil && c.Update.Status != "" && !c.Update.Status.Known():
			return broken(c, fmt.Sprintf("there is no status %q", c.Update.Status))
		case c.Update != nil && c.Update.Cause != "" && (!c.Update.Cause.Known() || c.Update.Status != domain.StatusInterrupted):
			return broken(c, fmt.Sprintf("it is not interrupted with the cause %q", c.Update.Cause))
		}
		if at := slices.IndexFunc(c.Ask, func(a domain.Approval) bool { return !a.Kind.Known() }); at >= 0 {
			return broken(c, fmt.Sprintf("there is no kind of approval %q", c.Ask[at].Kind))
		}
		if why := cmp.Or(brokenRole(c), b.brokenLink(i), brokenPrompt(c), brokenClients(c), brokenRules(c.Remember), brokenPins(c.Pins), brokenAudit(c.Audit)); why != "" {
			return broken(c, why)
		}
		seen[c.Execution] = true
	}
	return nil
}

// brokenRole finds what the writer of c may not write.
func brokenRole(c *Change) string {
	drives := c.Park != nil || c.StartPrompt != "" || len(c.DiscardPrompts) > 0 || c.Resumed || len(c.Debug) > 0 || len(c.States)+len(c.Paused) > 0 ||
		len(c.AskClient) > 0 || len(c.CloseClient) > 0 || c.Generate != nil || c.EndRollback != nil || c.Rest != nil || len(c.Taken) > 0
	requests := c.Prompt != nil || c.Close != nil || c.Resume != nil || c.Notify || c.AnswerClient != nil || c.Accept != nil
	switch {
	case c.Epoch == 0 && drives:
		return "it does what only the driver may"
	case c.Epoch != 0 && requests:
		return "it makes a control request although it drives the execution"
	case c.Resume != nil && !c.Resume.Mode.Known():
		return fmt.Sprintf("there is no way to resume %q", c.Resume.Mode)
	case c.Rest != nil && (c.Update == nil || !rests(c.Update.Status) && c.Update.Status != domain.StatusWaiting):
		return "it has a result and does not end a turn"
	}
	return ""
}

func brokenPrompt(c *Change) string {
	switch {
	case c.Prompt != nil && len(c.Events) == 0:
		return "no event shows its prompt"
	case c.Prompt != nil && !c.Prompt.Prompt.WhenBusy.Known():
		return fmt.Sprintf("a prompt cannot wait by %q", c.Prompt.Prompt.WhenBusy)
	case c.StartPrompt != "" && (c.Update == nil || c.Update.Turn == 0):
		return "it starts a prompt without a turn"
	case c.StartPrompt != "" && slices.Contains(c.DiscardPrompts, c.StartPrompt):
		return "it starts a prompt that it discards"
	}
	return ""
}

func broken(c *Change, why string) error {
	return domain.Errorf(domain.CodeInternal, "A change of execution %s is not well formed: %s.", c.Execution, why)
}

// makeText replaces data that an engine could not keep as it is.
func makeText(changes []Change) {
	for i := range changes {
		for j := range changes[i].Events {
			if event := &changes[i].Events[j]; !utf8.Valid(event.Data) {
				event.Data = []byte(text(string(event.Data)))
			}
		}
	}
}

// batch is changes on their way into the database.
type batch struct {
	store   *Store
	ctx     context.Context
	changes []Change                   // with the linked ones, see flattened
	mains   []int                      // for each change, the place of its main change, or its own; nil: nothing is linked
	order   []int                      // of the changes, by execution: the order of their locks
	places  map[domain.ExecutionID]int // of the changes
	banned  map[int]error              // changes that were refused after they had written something
	results []Result                   // of the newest attempt; a change with an error is left out

	tx      transaction                      // of the newest attempt, and so are
	heads   map[domain.ExecutionID]takenHead // what it gave
	written map[int]bool                     // the changes that have something in it
	again   bool                             // one of those was refused
}

// takenHead is what the update of a head returns: the last seq of the change, the tenant, the change's key in the feed, and the driver after it.
type takenHead struct {
	lastSeq int64
	tenant  string
	feedKey int64
	owner   string
}

// write takes the steps in the order in which every writer takes its locks: approvals, then heads, then files, then children, then pins, then rules, each by
// id, and at last the ends of the audit, by tenant. So two replicas cannot deadlock.
//
// A check of an execution's state is a statement of its own behind that of the heads. Postgres takes the snapshot of a statement before it waits
// for a lock, so a statement that waited does not see the writes of the transaction before it.
func (b *batch) write(tx transaction) error {
	b.begin(tx)
	steps := []step{
		{failpoint.BeforeTakeKeys, b.takeKeys},
		{failpoint.BeforeTakeRates, b.takeRates},
		{failpoint.BeforeCreateExecutions, b.createExecutions},
		{failpoint.BeforeCreateHeads, b.createHeads},
		{failpoint.BeforeResolveApprovals, b.resolveApprovals},
		{failpoint.BeforeTakeHeads, b.takeHeads},
		{failpoint.BeforeCreateChildren, b.createChildren},
		{failpoint.BeforeAdmitPrompts, b.admitPrompts},
		{failpoint.BeforeAdmitResumes, b.admitResumes},
		{failpoint.BeforeAdmitAnswers, b.admitAnswers},
		{failpoint.BeforeAdmitAcceptances, b.admitAcceptances},
		{failpoint.BeforeUseFiles, b.useFiles},
		{failpoint.BeforeMovePrompts, b.movePrompts},
		{failpoint.BeforeRefuseLosses, b.refuseLosses},
		{failpoint.BeforeRestChildren, b.restChildren},
		{failpoint.BeforeAppendEvents, b.appendEvents},
		{failpoint.BeforeInsertDeliveries, b.insertDeliveries},
		{failpoint.BeforeAppendFeed, b.appendFeed},
		{failpoint.BeforeUpdateExecutions, b.updateExecutions},
		{failpoint.BeforeAskApprovals, b.askApprovals},
		{failpoint.BeforeKeepPins, b.keepPins},
		{failpoint.BeforeRememberRules, b.rememberRules},
		{failpoint.BeforeCountHits, b.countHits},
		{failpoint.BeforeAskClients, b.askClients},
		{failpoint.BeforeCloseClients, b.closeClients},
		{failpoint.BeforeStoreAnswers, b.keepAnswers},
		{failpoint.BeforeCancelClients, b.cancelClients},
		{failpoint.BeforeAddGenerations, b.addGenerations},
		{failpoint.BeforeAcceptGenerations, b.acceptGenerations},
		{failpoint.BeforeCancelGenerations, b.cancelGenerations},
		{failpoint.BeforeEndRollbacks, b.endRollbacks},
		{failpoint.BeforeQueuePrompts, b.queuePrompts},
		{failpoint.BeforeWriteControlRequests, b.writeControlRequests},
		{failpoint.BeforeKeepStates, b.keepStates},
		{failpoint.BeforeKeepPaused, b.keepPaused},
		{failpoint.BeforeAppendDebug, b.appendDebug},
		{failpoint.BeforeAppendAudit, b.appendAudit},
	}
	for _, step := range steps {
		failpoint.Hit(step.before)
		if err := step.take(); err != nil {
			return err
		}
		if b.again {
			return errAgain
		}
	}
	b.reportResults()
	b.acceptRepeats()
	return nil
}

// reportResults gives the changes that were written their results.
func (b *batch) reportResults() {
	for i, c := range b.live {
		head := b.heads[c.Execution]
		b.results[i].LastSeq, b.results[i].Tenant, b.results[i].Owner = head.lastSeq, domain.TenantID(head.tenant), ReplicaID(head.owner)
	}
}

// step is one step of a batch, and the failpoint before it.
type step struct {
	before failpoint.Name
	take   func() error
}

// begin forgets what an earlier attempt found. Only banned changes stay refused: the reason for any other refusal may have been rolled back.
func (b *batch) begin(tx transaction) {
	b.tx, b.again = tx, false
	b.heads, b.written = map[domain.ExecutionID]takenHead{}, map[int]bool{}
	b.results = make([]Result, len(b.changes))
	for i, why := range b.banned {
		b.results[i].Err = why
	}
}

// live walks the changes that are not refused, by execution.
func (b *batch) live(yield func(int, *Change) bool) {
	for _, i := range b.order {
		if b.results[i].Err == nil && !yield(i, &b.changes[i]) {
			return
		}
	}
}

// refuse refuses a change, and all changes that are linked with it.
func (b *batch) refuse(i int, why error) {
	first, end := b.linkedWith(i)
	written := false
	for member := first; member < end; member++ {
		if member == i || b.results[member].Err == nil {
			b.results[member].Err = why
		}
		written = written || b.written[member]
	}
	for member := first; written && member < end; member++ {
		b.banned[member], b.again = b.results[member].Err, true
	}
}

// row is a row of a list, and the change that it comes from.
type row struct {
	change int
	values []any
}

// run runs a statement that reads rows as the table v, where there are any, and returns the ids of the rows that it
// wrote: its last clause is `returning` with one text column.
func (b *batch) run(spec string, rows []row, statement string) (map[string]bool, error) {
	found, err := ask(b, spec, rows, scanValue[string], statement)
	ids := make(map[string]bool, len(found))
	for _, id := range found {
		ids[id] = true
	}
	return ids, err
}

// ask is run for a statement that returns more than one column.
func ask[T any](b *batch, spec string, rows []row, scan func(scanner) (T, error), statement string) ([]T, error) {
	var all []T
	kinds := columns(spec)
	for part := range b.store.dialect.parts(rows) {
		given := list{columns: kinds}
		for _, row := range part {
			given.rows = append(given.rows, row.values)
		}
		with, args := b.store.dialect.with(given)
		found, err := rowsOf(b.tx, scan, with+statement, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// rowsAtOnce keeps a statement below the limits on parameters: 20 columns at most, 32,766 of them in SQLite.
const rowsAtOnce = 1000

// parts cuts rows into those of one statement each.
func (d *dialect) parts(rows []row) iter.Seq[[]row] {
	return func(yield func([]row) bool) {
		for len(rows) > 0 {
			n := d.bite(min(len(rows), rowsAtOnce))
			if !yield(rows[:n]) {
				return
			}
			rows = rows[n:]
		}
	}
}

// writeRows is run for a statement that passes over the rows which it cannot write: their changes are refused.
func (b *batch) writeRows(spec string, rows []row, passedOver error, statement string) error {
	done, err := b.run(spec, rows, statement)
	if err == nil {
		b.settle(rows, done, passedOver)
	}
	return err
}

// settle notes for each row whether its change has written. A row whose id (its first value) is not in done was passed over by the statement,
// and refuses its change.
func (b *batch) settle(rows []row, done map[string]bool, why error) {
	for _, row := range rows {
		if done[row.values[0].(string)] {
			b.written[row.change] = true
		}
	}
	for _, row := range rows {
		if !done[row.values[0].(string)] {
			b.refuse(row.change, why)
		}
	}
}

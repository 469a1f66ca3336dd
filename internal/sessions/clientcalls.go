package sessions

import (
	"maps"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// clientCalls asks the client to run its calls, and takes its answers.
type clientCalls struct {
	core
	recorder *recorder
	calls    *openCalls
}

// ask hands a call that may run to the client. The call is judged like any other; its start is the question to the client. The
// question and the answer are rows, so neither is lost with a process. The agent goes on waiting.
func (cc *clientCalls) ask(change *changeSet, c *call, started domain.ToolCallStarted) {
	waiting := domain.ClientCall{
		Execution: cc.execution.ID, ToolCallID: c.ID, Tool: c.Tool, Arguments: cc.engine.masker.JSON(started.Arguments),
		State: domain.ClientCallWaiting, Asked: time.Now().UTC().Truncate(time.Microsecond),
	}
	if seconds := cc.execution.Request.ApprovalTimeoutSeconds; seconds > 0 {
		expires := waiting.Asked.Add(time.Duration(seconds) * time.Second)
		waiting.Expires = &expires
	}
	started.Awaits, started.ExpiresAt = domain.AwaitsClient, waiting.Expires
	change.emit(started)
	change.handed = append(change.handed, waiting)
	c.approval, c.client = nil, &waiting
}

// applyAnswers ends the calls that no longer wait for the client. If our agent has not asked for a call again since a restart, the
// call stays open until it does: it asks for that answer.
func (cc *clientCalls) applyAnswers(change *changeSet) error {
	if err := cc.read(); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(cc.calls.open)) {
		if c := cc.calls.open[id]; c.client != nil && c.ask != nil && !c.awaitsClient() {
			done, note := c.clientOutcome(), c.note()
			cc.calls.endOutput(change, c)
			change.advanced = true
			change.complete(c, done)
			cc.calls.forget(c)
			change.reply(c, reply{grant: domain.Grant{Message: note + done.Output}})
			cc.calls.deriveStatus(change)
		}
	}
	return nil
}

// read reads the client's calls. If the clock of this server is ahead, its expiry counts and not the row's.
func (cc *clientCalls) read() error {
	var ids []string
	for id, c := range cc.calls.open {
		if c.client != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := cc.claim.reading()
	defer cancel()
	rows, err := cc.engine.store.ClientCalls(ctx, cc.execution.ID, ids...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		c := cc.calls.open[row.ToolCallID]
		if again := c.client.Expires; again != nil && row.Expires != nil && again.After(*row.Expires) {
			row.Expires = again
		}
		c.client = &row
	}
	return nil
}

// dropAnswered reads the answers of the client that came while the end was written, and tells whether there were any.
func (cc *clientCalls) dropAnswered() bool {
	waiting := func() (n int) {
		for _, c := range cc.calls.open {
			if c.awaitsClient() {
				n++
			}
		}
		return n
	}
	before := waiting()
	return before > 0 && cc.read() == nil && waiting() < before
}

// expire ends a call whose time is over. Its outcome is read afterwards: an answer in the last moment counts.
func (cc *clientCalls) expire(c *call) error {
	change := cc.recorder.begin()
	change.closing = []store.ClientClosing{{ToolCallID: c.ID, To: domain.ClientCallExpired}}
	again := time.Now().Add(clockSkew) // if it still waits by the database's clock
	c.client.Expires = &again
	return cc.recorder.commitEnd(change.transaction())
}

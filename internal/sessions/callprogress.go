package sessions

import (
	"math"
	"strings"
	"time"

	"signoff/internal/domain"
)

// An MCP server tells how far a call is as often as it likes. Each telling would be an event that stays for ever, so the inbox lets a few a
// second pass, and of the others only the last.

const (
	progressPause = 250 * time.Millisecond // between two events of one call
	progressBytes = 500                    // of a message
)

// callProgress is how far one call has told that it is.
type callProgress struct {
	passed  time.Time            // when one was put in last
	waiting *domain.CallProgress // the newest since then; nil: there is none
}

// maskProgress takes the secrets out of the message, before it is cut: a masker does not find half a secret.
func (h *host) maskProgress(payload domain.Payload) domain.Payload {
	p, is := payload.(domain.ToolCallUpdated)
	if !is || p.Progress == nil {
		return payload
	}
	told := *p.Progress
	told.Message = h.masker.MaskString(told.Message)
	p.Progress = &told
	return p
}

// advance puts in how far a call is, at once or after a pause. The inbox is locked.
func (b *inbox) advance(id string, told domain.CallProgress) {
	if !finite(told.Done) || !finite(told.Total) { // JSON has no word for it
		return
	}
	told.Message = strings.ToValidUTF8(told.Message[:min(len(told.Message), progressBytes)], "")
	p := b.progress[id]
	if p == nil {
		p = &callProgress{}
		b.progress[id] = p
	}
	if p.waiting != nil {
		p.waiting = &told
		return
	}
	p.waiting = &told
	pause := time.Until(p.passed.Add(progressPause))
	if pause <= 0 {
		b.passProgress(id, p)
		return
	}
	time.AfterFunc(pause, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.closed == nil {
			b.passProgress(id, p)
			notify(b.ready)
		}
	})
}

// passProgress puts in what waits of a call. The inbox is locked.
func (b *inbox) passProgress(id string, p *callProgress) {
	if p.waiting == nil {
		return
	}
	b.bytes += itemBytes + len(p.waiting.Message)
	b.items = append(b.items, item{payload: domain.ToolCallUpdated{ToolCallID: id, Progress: p.waiting}})
	p.passed, p.waiting = time.Now(), nil
}

// endProgress puts in what waits of a call that ends. The inbox is locked.
func (b *inbox) endProgress(id string) {
	if p := b.progress[id]; p != nil {
		b.passProgress(id, p)
		delete(b.progress, id)
	}
}

func finite(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }

// advanced writes how far a running call is.
func (o *openCalls) advanced(change *changeSet, p domain.ToolCallUpdated) {
	c := o.open[p.ToolCallID]
	if c == nil || !c.running() || p.Progress == nil {
		return
	}
	change.emit(domain.ToolCallUpdated{ToolCallID: c.ID, Offset: c.logged().Printed, Progress: p.Progress})
}

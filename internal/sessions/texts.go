package sessions

import (
	"maps"

	"signoff/internal/domain"
)

// texts writes the messages, thoughts and outputs of the agent while they grow, as far as they may be seen already.
type texts struct {
	recorder *recorder
	progress *domain.Progress
	calls    *openCalls
}

// write takes a piece of text, as far as it may be seen already.
func (t *texts) write(change *changeSet, piece *delta) {
	key := domain.TextKey{Kind: piece.kind, ID: piece.id}
	_, open := t.calls.open[piece.id]
	if t.progress.Closed[key] || (piece.kind == domain.ToolCallUpdatedType && !open) { // the output of a call after its outcome is dropped
		return
	}
	if text := t.recorder.masking.write(key, piece.text.String()); text != "" {
		t.show(change, key, text)
	}
}

// show numbers a piece of text. The status is told before the first piece: who shows "streaming" shows it in time.
func (t *texts) show(change *changeSet, key domain.TextKey, text string) {
	if key.Kind == domain.ToolCallUpdatedType {
		t.calls.print(change, key.ID, text)
		return
	}
	t.calls.deriveStatusWith(change, true)
	offset := 0
	if open := t.progress.Texts[key]; open != nil {
		offset = open.Length
	}
	if key.Kind == domain.ThoughtDeltaType {
		change.emit(domain.ThoughtDelta{MessageID: key.ID, Turn: t.recorder.turnNumber(), Offset: offset, Text: text})
	} else {
		change.emit(domain.MessageDelta{MessageID: key.ID, Turn: t.recorder.turnNumber(), Offset: offset, Text: text})
	}
}

// end tells the rest of a text that has begun, which was held back because it might have become a secret, and returns its length.
// Each text ends once.
func (t *texts) end(change *changeSet, key domain.TextKey) (length int, begun bool) {
	if t.progress.Texts[key] == nil && t.recorder.masking.streams[key] == nil {
		return 0, false
	}
	t.release(change, key)
	t.recorder.masking.forget(key)
	if open := t.progress.Texts[key]; open != nil {
		length = open.Length
	}
	return length, true
}

// release tells the end of a text that was held back.
func (t *texts) release(change *changeSet, key domain.TextKey) {
	if rest := t.recorder.masking.release(key); rest != "" {
		t.show(change, key, rest)
	}
}

// releaseAll tells what of all texts was held back, in a change of its own: what comes after it may have to be drafted
// more than once, and a text can be let go of only once.
func (t *texts) releaseAll() error {
	change := t.recorder.begin()
	for _, key := range t.recorder.masking.keys() {
		t.release(change, key)
	}
	return t.recorder.commit(change)
}

// close drafts the end of all texts that have begun. Whole, nothing of them is missing; otherwise they broke off, but for those after
// which the model went on to ask for a tool.
func (t *texts) close(change *changeSet, whole bool) {
	for _, key := range sortedTexts(maps.Keys(t.progress.Texts)) {
		open := *t.progress.Texts[key]
		interrupted := !whole && !open.Whole
		if key.Kind == domain.ThoughtDeltaType {
			change.emit(domain.ThoughtCompleted{MessageID: key.ID, Turn: t.recorder.turnNumber(), Length: open.Length, Interrupted: interrupted})
		} else {
			change.emit(domain.MessageCompleted{MessageID: key.ID, Turn: t.recorder.turnNumber(), Length: open.Length, Interrupted: interrupted})
		}
	}
}

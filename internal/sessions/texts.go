package sessions

import (
	"maps"

	"signoff/internal/domain"
)

// texts writes the messages, thoughts and outputs of the agent while they grow, without secrets.
type texts struct {
	core
	recorder *recorder
	calls    *openCalls
}

// write takes a piece of a text, and writes the part that may be seen now.
func (t *texts) write(change *changeSet, piece *delta) {
	key := domain.TextKey{Kind: piece.kind, ID: piece.id}
	_, open := t.calls.open[piece.id]
	if t.progress.Closed[key] || (piece.kind == domain.ToolCallUpdatedType && !open) { // output that comes after the call's outcome is dropped
		return
	}
	if text := t.recorder.masking.write(key, piece.text.String()); text != "" {
		t.show(change, key, text)
	}
}

// show writes a piece of a text with its offset. The status changes before the first piece.
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
		change.emit(domain.ThoughtDelta{MessageID: key.ID, Turn: t.turnNumber(), Offset: offset, Text: text})
	} else {
		change.emit(domain.MessageDelta{MessageID: key.ID, Turn: t.turnNumber(), Offset: offset, Text: text})
	}
}

// end writes the rest of a text that was held back because it might have become a secret, and returns the text's length. Each text
// ends once.
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

// release writes the rest of a text that was held back.
func (t *texts) release(change *changeSet, key domain.TextKey) {
	if rest := t.recorder.masking.release(key); rest != "" {
		t.show(change, key, rest)
	}
}

// releaseAll writes the rests of all texts, in a change of its own: the change that follows may be made more than once, and a rest
// can be released only once.
func (t *texts) releaseAll() error {
	change := t.recorder.begin()
	for _, key := range t.recorder.masking.keys() {
		t.release(change, key)
	}
	return t.recorder.commit(change)
}

// close ends all open texts. Whole texts miss nothing; otherwise they broke off, but for those after which the model went on to
// ask for a tool.
func (t *texts) close(change *changeSet, whole bool) {
	for _, key := range sortedTexts(maps.Keys(t.progress.Texts)) {
		open := *t.progress.Texts[key]
		interrupted := !whole && !open.Whole
		if key.Kind == domain.ThoughtDeltaType {
			change.emit(domain.ThoughtCompleted{MessageID: key.ID, Turn: t.turnNumber(), Length: open.Length, Interrupted: interrupted})
		} else {
			change.emit(domain.MessageCompleted{MessageID: key.ID, Turn: t.turnNumber(), Length: open.Length, Interrupted: interrupted})
		}
	}
}

package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// The results of the last round are what the model has asked for and not read yet. They are shortened only where the
// provider has refused the conversation and nothing else is left to cut, the largest first: all that are longer come down
// to one size, and keep their beginning and their end. An answer of the model about half of a file is better than an
// execution that no prompt brings back to life.

const (
	leastKept = 2 << 10 // bytes of a result that stay, whatever the provider says
	worthNote = 200     // what is less than this longer is not worth the note
)

// latest is a result of the last round.
type latest struct {
	callID string
	bytes  int
}

// trimLatest shortens the results of the last round until the conversation has, by our reckoning, half of what it had, or
// fits the window with its margin, whichever is less: the provider has just shown that our reckoning may be wrong.
func (t *turn) trimLatest(ctx context.Context) (bool, error) {
	view := t.view()
	before := t.estimate(view)
	target := before / 2
	if limit := t.agent.asked().fullAt(); limit > 0 {
		target = min(target, limit*roomy/100)
	}
	results := latestResults(view)
	size := levelled(results, int(before-target)*bytesPerToken)
	count, saved := 0, 0
	for _, result := range results {
		if result.bytes > size+worthNote {
			if t.agent.trimmed == nil {
				t.agent.trimmed = map[string]int{}
			}
			t.agent.trimmed[result.callID] = size
			count, saved = count+1, saved+result.bytes-size-worthNote
		}
	}
	if count == 0 {
		return false, nil
	}
	return true, t.tellCompacted(ctx, reasonOverflow, count, before, max(before-tokens(saved), 0))
}

// latestResults lists the results that follow the last answer with calls.
func latestResults(view []domain.Message) (results []latest) {
	last := lastIndex(view, func(m domain.Message) bool { return len(m.ToolCalls) > 0 })
	for _, message := range view[max(last, 0):] {
		if message.Role == domain.RoleTool {
			results = append(results, latest{callID: message.ToolCallID, bytes: len(message.Text)})
		}
	}
	return results
}

// levelled is the size to which all larger results are to come down so that this many bytes are saved, or as many as
// [leastKept] allows.
func levelled(results []latest, save int) int {
	bySize := slices.SortedFunc(slices.Values(results), func(a, b latest) int { return b.bytes - a.bytes })
	sum := 0
	for i, result := range bySize {
		sum += result.bytes
		next := 0
		if i+1 < len(bySize) {
			next = bySize[i+1].bytes
		}
		if size := (sum - save) / (i + 1); size >= next {
			return max(size, leastKept)
		}
	}
	return leastKept
}

// trimView takes the middle out of what is trimmed. It is made of the whole results each time, so it is always the same.
func (t *turn) trimView(view []domain.Message) {
	for i, message := range view {
		size, trimmed := t.agent.trimmed[message.ToolCallID]
		if trimmed && message.Role == domain.RoleTool && len(message.Text) > size {
			view[i].Text = withoutMiddle(message.Text, size)
		}
	}
}

// withoutMiddle keeps about so many bytes of a text, with a note where the rest was. The beginning has the larger part:
// it says what the text is. The end is where commands tell how they went.
func withoutMiddle(text string, size int) string {
	head := strings.ToValidUTF8(text[:size*2/3], "")
	tail := strings.ToValidUTF8(text[len(text)-size/3:], "")
	note := fmt.Sprintf("\n\n[… %s bytes of this result are left out here: the conversation was too long. Ask for less at once. …]\n\n",
		grouped(len(text)-len(head)-len(tail)))
	return head + note + tail
}

package llm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/tools"
)

const (
	beginning = 80      // characters of an old result that stay, in its line
	leastKept = 2 << 10 // bytes of a result of the last round that stay, whatever the provider says
	worthNote = 200     // what is less than this longer is not worth the note

	resultPart = 4 // one result takes at most this part of the window
)

// oldResult is a tool result that the model has gone on from.
type oldResult struct {
	at, askedAt int // in the view: the result, and the answer that asked for it
	callID      string
	tool        string
	text        string
	files       int64 // tokens of its pictures
}

// line is what is left of a result that is cut. It is made of the whole result, so it is the same whenever it is made. What ran in place of the
// model's own call stays said: the call stays, too.
func (r oldResult) line() string {
	note, text := domain.CutEditNote(r.text)
	begins := strings.ToValidUTF8(text[:min(len(text), 4*beginning)], "")
	return note + fmt.Sprintf("[result of %s, %s bytes, left out; it began: %s]", provider.OneLine(r.tool, beginning), grouped(len(text)), provider.OneLine(begins, beginning))
}

// oldResults lists the results of all rounds but the last, in their order.
func oldResults(view []domain.Message) []oldResult {
	last := lastIndex(view, func(m domain.Message) bool { return len(m.ToolCalls) > 0 })
	asked := -1
	var old []oldResult
	for i, message := range view[:max(last, 0)] {
		switch message.Role {
		case domain.RoleAssistant:
			asked = i
		case domain.RoleTool: // orderly has put it right behind the answer that asked for it
			calls := view[asked].ToolCalls
			of := slices.IndexFunc(calls, func(call domain.ToolCall) bool { return call.ID == message.ToolCallID })
			old = append(old, oldResult{at: i, askedAt: asked, callID: message.ToolCallID, tool: calls[of].Tool, text: message.Text,
				files: filesGuess(message.Parts)})
		}
	}
	return old
}

// lastIndex is -1 where there is none.
func lastIndex(list []domain.Message, is func(domain.Message) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if is(list[i]) {
			return i
		}
	}
	return -1
}

// grouped writes 12345 as 12,345.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// The results of the last round are what the model has asked for and not read yet. They are shortened only where the
// provider has refused the conversation and nothing else is left to cut, the largest first: all that are longer come down
// to one size, and keep their beginning and their end. An answer of the model about half of a file is better than an
// execution that no prompt brings back to life.

// latest is a result of the last round.
type latest struct {
	callID string
	bytes  int
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

// resultsWith lists the results of the round that has this call.
func resultsWith(view []domain.Message, callID string) []latest {
	at := slices.IndexFunc(view, func(m domain.Message) bool { return m.Role == domain.RoleTool && m.ToolCallID == callID })
	if at < 0 {
		return nil
	}
	for at++; at < len(view) && view[at].Role == domain.RoleTool; at++ { // the rest of its round
	}
	return latestResults(view[:at])
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

// withoutMiddle keeps about so many bytes of a text, with a note where the rest was. The beginning has the larger part:
// it says what the text is. The end is where commands tell how they went.
func withoutMiddle(text string, size int) string {
	head := strings.ToValidUTF8(text[:size*2/3], "")
	tail := strings.ToValidUTF8(text[len(text)-size/3:], "")
	note := fmt.Sprintf("\n\n[… %s bytes of this result are left out here: the conversation was too long. Ask for less at once. …]\n\n",
		grouped(len(text)-len(head)-len(tail)))
	return head + note + tail
}

// partOf is as much of a result as a model with this window gets: its beginning and its end. One result that took the whole window would leave
// no room for what the model is to do with it. The log has all of it, so a model with the tool read is told how to read the rest.
func (c *conversation) partOf(result domain.Message) string {
	if c.most == 0 || len(result.Text) <= c.most {
		return result.Text
	}
	note, text := domain.CutEditNote(result.Text)
	room := max(c.most-len(note)-2*worthNote, c.most/2)
	begins := room * 2 / 3
	if at := strings.Index(text, tools.LeftOut); at >= 0 { // the tool has left out the middle already: its lines behind that are others than those of the log
		begins = min(begins, max(strings.LastIndexByte(text[:at], '\n'), 0))
	}
	head := strings.ToValidUTF8(text[:begins], "")
	tail := strings.ToValidUTF8(text[len(text)-room/3:], "")
	how := "Ask for less at once."
	if c.reads && !domain.IsContextCall(result.ToolCallID) {
		how = fmt.Sprintf("To see it, use the tool read with the path %q, the offset %d and a small limit.",
			tools.OutputPath(result.ToolCallID), 1+strings.Count(head, "\n"))
	}
	return fmt.Sprintf("%s%s\n\n[… The middle of this result is left out here: it is longer than a quarter of what you can read at once. %s …]\n\n%s", note, head, how, tail)
}

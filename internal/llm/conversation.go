package llm

import (
	"slices"

	"signoff/internal/domain"
)

// A conversation grows with every round, and most of it is old output. Near the model's limit the oldest tool results
// are cut down to a line each, which is what the model is sent from then on; the log keeps them whole. They are cut
// until there is a margin, so that it does not happen again in the next round: each time costs the provider's cache of
// the prompt. What the model has not gone on from is left whole, until the provider has refused it.
const (
	nearLimit = 80 // percent of the window
	roomy     = 75 // percent of that, so three fifths of the window

	bytesPerToken = 4 // a rule of thumb; code and other scripts have fewer, which is what the margin is for
	messageTokens = 4 // roles and borders

	// What vendors take for a picture of the largest size that they look at, and a PDF with the pictures of its pages, roughly:
	// https://platform.claude.com/docs/en/build-with-claude/vision#calculate-image-costs
	pictureTokens    = 1600
	pdfBytesPerToken = 32
)

// conversation is what the model is sent of an execution's history. What was cut stands in the log, as [domain.ContextCompacted], and how
// many tokens the provider counted stands with each answer: a process that recovers the execution cuts the same and counts from there. What
// nobody has counted is guessed by its bytes.
type conversation struct {
	mask      mask
	generates bool             // blocks; see withoutAsides
	history   []domain.Message // as the log has it
	fixed     int64            // tokens of what stands before it: the system prompt and the tools

	asked     string                    // the model, whose counts of tokens hold
	most      int                       // bytes of one result that the model gets; 0: unknown
	reads     bool                      // the model can read the rest of a result
	compacted []domain.ContextCompacted // all compactions so far; the maps below are derived from them
	shortened map[string]shortened      // by the ids of the calls whose results the model gets as a line
	trimmed   map[string]int            // and of those whose results it gets without their middle, and how many bytes of them

	refused map[digest]bool // the states that their model has refused
}

// shortened is a result that was cut to a line.
type shortened struct {
	by    int   // which compaction, from 1
	saved int64 // tokens
}

// begin takes the history at the beginning of a turn. A result that was cut before stays cut, also by another process: each change of the conversation
// costs the provider's cache of it.
func (c *conversation) begin(prompt domain.Prompt) {
	c.history = prompt.History
	for len(c.compacted) < len(prompt.Compacted) {
		c.repeat(prompt.Compacted[len(c.compacted)])
	}
}

// repeat makes the cuts of another process again.
func (c *conversation) repeat(done domain.ContextCompacted) {
	c.compacted = append(c.compacted, done)
	view := c.view()
	if done.ResultBytes > 0 {
		c.trimTo(resultsWith(view, done.Through), done.ResultBytes)
		return
	}
	old := oldResults(view)
	through := slices.IndexFunc(old, func(r oldResult) bool { return r.callID == done.Through })
	for _, result := range old[:through+1] {
		c.cutToLine(result)
	}
}

// add appends to the history, and never to the array that a prompt has brought along.
func (c *conversation) add(messages ...domain.Message) {
	c.history = append(c.history[:len(c.history):len(c.history)], messages...)
}

// answered tells whether the history ends with an answer that asked for nothing: the turn was over, and the server
// went down before it could say so.
func (c *conversation) answered() bool {
	if len(c.history) == 0 {
		return false
	}
	last := c.history[len(c.history)-1]
	return last.Role == domain.RoleAssistant && len(last.ToolCalls) == 0
}

// unsettled finds the calls at the end of the history that have no result: a restart came between.
func (c *conversation) unsettled() (calls []domain.ToolCall) {
	asked := lastIndex(c.history, func(m domain.Message) bool { return m.Role != domain.RoleTool })
	if asked < 0 || c.history[asked].Role != domain.RoleAssistant {
		return nil
	}
	settled := map[string]bool{}
	for _, result := range c.history[asked+1:] {
		settled[result.ToolCallID] = true
	}
	for _, call := range c.history[asked].ToolCalls {
		if !settled[call.ID] {
			calls = append(calls, call)
		}
	}
	return calls
}

// whole is the conversation in good order, with all that was said.
func (c *conversation) whole() []domain.Message {
	if c.generates {
		return withoutAsides(orderly(c.history))
	}
	return orderly(c.history)
}

// view is the conversation as the model is sent it. It is made anew from the history each time, so cutting twice is
// cutting once.
func (c *conversation) view() []domain.Message {
	view := c.mask.messages(summarized(c.whole(), c.summary()))
	for i := range view {
		if len(c.refused) > 0 && c.refused[digestOf(view[i].State)] {
			view[i].State = nil
		}
	}
	turnBegins := lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for _, old := range oldResults(view) {
		if c.shortened[old.callID].by == 0 {
			continue
		}
		view[old.at].Text, view[old.at].Parts = old.line(), nil
		if old.askedAt < turnBegins { // in its own turn, some providers want it back
			view[old.askedAt].State = nil
		}
	}
	for i, message := range view {
		size, trimmed := c.trimmed[message.ToolCallID]
		if trimmed && message.Role == domain.RoleTool && len(message.Text) > size {
			view[i].Text = withoutMiddle(message.Text, size)
		}
		if message.Role == domain.RoleTool {
			view[i].Text = c.partOf(view[i])
		}
	}
	return view
}

// estimate is how many tokens the next request will have: what the provider of the model counted last, and a guess at what came since.
func (c *conversation) estimate(view []domain.Message) int64 {
	total := c.fixed
	summarized := c.summarizedBy()
	counts := func(m domain.Message) bool {
		return m.Counted != nil && m.Counted.Model == c.asked && m.Counted.Compactions >= summarized
	}
	if at := lastIndex(view, counts); at >= 0 {
		total = view[at].Counted.Tokens
		for _, message := range view[:at] { // what was cut since
			if cut := c.shortened[message.ToolCallID]; cut.by > view[at].Counted.Compactions {
				total -= cut.saved
			}
		}
		total = max(total, 1)
		view = view[at+1:]
	}
	for _, message := range view {
		total += guess(message)
	}
	return total
}

// guess is how many tokens a message has, by its bytes, and by its pictures and files.
func guess(message domain.Message) int64 {
	size := len(message.Text) + len(message.State)
	for _, call := range message.ToolCalls {
		size += len(call.Tool) + len(call.Arguments)
	}
	return tokens(size) + filesGuess(message.Parts) + messageTokens
}

// filesGuess is how many tokens the pictures and files of a message have.
func filesGuess(parts []domain.PromptPart) (tokens int64) {
	for _, part := range domain.FileParts(parts) {
		if tokens += pictureTokens; part.Type != domain.PartImage {
			tokens += part.Size / pdfBytesPerToken
		}
	}
	return tokens
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// shorten cuts old results to a line, the oldest first, until the conversation has less than target tokens or no old result is left.
// The event that it returns has no results where there was nothing to cut.
func (c *conversation) shorten(reason string, target int64) domain.ContextCompacted {
	view := c.view()
	done := domain.ContextCompacted{Reason: reason, Before: c.estimate(view)}
	done.After = done.Before
	c.compacted = append(c.compacted, done)
	for _, old := range oldResults(view) {
		if done.After < target {
			break
		}
		if saved := c.cutToLine(old); saved > 0 {
			done.After, done.Results, done.Through = done.After-saved, done.Results+1, old.callID
		}
	}
	done.After = max(done.After, 0)
	return c.settle(done)
}

// cutToLine cuts one result, and tells how many tokens that saves; none where it is cut already, or no longer than its line.
func (c *conversation) cutToLine(old oldResult) (saved int64) {
	saved = tokens(len(old.text)) + old.files - tokens(len(old.line()))
	if c.shortened[old.callID].by > 0 || saved <= 0 {
		return 0
	}
	if c.shortened == nil {
		c.shortened = map[string]shortened{}
	}
	c.shortened[old.callID] = shortened{by: len(c.compacted), saved: saved}
	return saved
}

// trim shortens the results of the last round until the conversation has, by our reckoning, half of what it had, or
// fits the limit with its margin, whichever is less: the provider has just shown that our reckoning may be wrong. 0 = no limit is known.
func (c *conversation) trim(reason string, limit int64) domain.ContextCompacted {
	view := c.view()
	done := domain.ContextCompacted{Reason: reason, Before: c.estimate(view)}
	c.compacted = append(c.compacted, done)
	target := done.Before / 2
	if limit > 0 {
		target = min(target, limit*roomy/100)
	}
	results := latestResults(view)
	done.ResultBytes = levelled(results, int(done.Before-target)*bytesPerToken)
	if len(results) > 0 {
		done.Through = results[len(results)-1].callID
	}
	count, saved := c.trimTo(results, done.ResultBytes)
	done.Results, done.After = count, max(done.Before-tokens(saved), 0)
	return c.settle(done)
}

// trimTo has the results that are longer lose their middle.
func (c *conversation) trimTo(results []latest, size int) (count, saved int) {
	for _, result := range results {
		if result.bytes > size+worthNote {
			if c.trimmed == nil {
				c.trimmed = map[string]int{}
			}
			c.trimmed[result.callID] = size
			count, saved = count+1, saved+result.bytes-size-worthNote
		}
	}
	return count, saved
}

// settle ends a compaction: one that has cut nothing has not happened.
func (c *conversation) settle(done domain.ContextCompacted) domain.ContextCompacted {
	last := len(c.compacted) - 1
	if done.Results == 0 {
		c.compacted = c.compacted[:last]
	} else {
		c.compacted[last] = done
	}
	return done
}

// submissions counts the answers since the user last spoke that handed blocks in. The history has them, so that a restart does not give
// the model more attempts.
func (c *conversation) submissions() (count int) {
	begins := lastIndex(c.history, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for _, message := range c.history[begins+1:] {
		for _, call := range message.ToolCalls {
			if call.Tool == toolSubmitBlocks {
				count++
				break
			}
		}
	}
	return count
}

// takeBack removes answers at the end that handed nothing in, where blocks were to be, and tells how many there were.
func (c *conversation) takeBack() (said int) {
	for c.generates && c.answered() {
		c.history = c.history[:len(c.history)-1]
		said++
	}
	return said
}

package llm

import (
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
)

// conversation is what the model is sent of an execution's history. Which results are cut is not in the log: a process that recovers
// the execution decides again, by the bytes alone until the provider has counted. From the same history it always decides the same.
type conversation struct {
	mask      mask
	generates bool             // blocks; see withoutAsides
	history   []domain.Message // as the log has it
	fixed     int64            // tokens of what stands before it: the system prompt and the tools

	measured  int64           // tokens up to the last answer, as the provider counted; 0 = unknown
	shortened map[string]bool // ids of the calls whose results the model gets as a line
	trimmed   map[string]int  // and of those whose results it gets without their middle, and how many bytes of them
	refused   map[digest]bool // the states that their model has refused
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

// view is the conversation as the model is sent it. It is made anew from the history each time, so cutting twice is
// cutting once.
func (c *conversation) view() []domain.Message {
	history := orderly(c.history)
	if c.generates {
		history = withoutAsides(history)
	}
	view := c.mask.messages(history)
	for i := range view {
		if len(c.refused) > 0 && c.refused[digestOf(view[i].State)] {
			view[i].State = nil
		}
	}
	turnBegins := lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for _, old := range oldResults(view) {
		if !c.shortened[old.callID] {
			continue
		}
		view[old.at].Text = old.line()
		if old.askedAt < turnBegins { // in its own turn, some providers want it back
			view[old.askedAt].State = nil
		}
	}
	for i, message := range view {
		size, trimmed := c.trimmed[message.ToolCallID]
		if trimmed && message.Role == domain.RoleTool && len(message.Text) > size {
			view[i].Text = withoutMiddle(message.Text, size)
		}
	}
	return view
}

// estimate is how many tokens the next request will have: what the provider counted last, and a guess at what came since.
func (c *conversation) estimate(view []domain.Message) int64 {
	total := c.fixed
	if c.measured > 0 {
		total = c.measured
		view = view[1+lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleAssistant }):]
	}
	for _, message := range view {
		size := len(message.Text) + len(message.State)
		for _, call := range message.ToolCalls {
			size += len(call.Tool) + len(call.Arguments)
		}
		total += tokens(size) + messageTokens
	}
	return total
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// cut is what a conversation has lost: so many results, and the tokens before and after. No results = there was nothing to lose.
type cut struct {
	results       int
	before, after int64
}

// shorten cuts old results to a line, the oldest first, until the conversation has less than target tokens or no old result is left.
func (c *conversation) shorten(target int64) cut {
	view := c.view()
	before := c.estimate(view)
	done := cut{before: before, after: before}
	for _, old := range oldResults(view) {
		if done.after < target {
			break
		}
		saved := tokens(len(old.text)) - tokens(len(old.line()))
		if c.shortened[old.callID] || saved <= 0 {
			continue
		}
		if c.shortened == nil {
			c.shortened = map[string]bool{}
		}
		c.shortened[old.callID] = true
		done.after, done.results = done.after-saved, done.results+1
	}
	done.after = max(done.after, 0)
	if done.results > 0 && c.measured > 0 {
		c.measured = max(c.measured-(before-done.after), 1)
	}
	return done
}

// trim shortens the results of the last round until the conversation has, by our reckoning, half of what it had, or
// fits the limit with its margin, whichever is less: the provider has just shown that our reckoning may be wrong. 0 = no limit is known.
func (c *conversation) trim(limit int64) cut {
	view := c.view()
	before := c.estimate(view)
	target := before / 2
	if limit > 0 {
		target = min(target, limit*roomy/100)
	}
	results := latestResults(view)
	size := levelled(results, int(before-target)*bytesPerToken)
	count, saved := 0, 0
	for _, result := range results {
		if result.bytes > size+worthNote {
			if c.trimmed == nil {
				c.trimmed = map[string]int{}
			}
			c.trimmed[result.callID] = size
			count, saved = count+1, saved+result.bytes-size-worthNote
		}
	}
	return cut{results: count, before: before, after: max(before-tokens(saved), 0)}
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

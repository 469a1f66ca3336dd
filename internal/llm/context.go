package llm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// A conversation grows with every round, and most of it is old output. Near the model's limit the oldest tool results
// are cut down to a line each, which is what the model is sent from then on; the log keeps them whole. They are cut
// until there is a margin, so that it does not happen again in the next round: each time costs the provider's cache of
// the prompt. What the model has not gone on from is left whole, until the provider has refused it; see latest.go.
const (
	nearLimit = 80 // percent of the window
	roomy     = 75 // percent of that, so three fifths of the window

	bytesPerToken = 4 // a rule of thumb; code and other scripts have fewer, which is what the margin is for
	messageTokens = 4 // roles and borders
	beginning     = 80
)

// The reasons of a [domain.ContextCompacted].
const (
	reasonNearLimit = "nearLimit"
	reasonOverflow  = "overflow"
)

// askModel asks the current model. Where the conversation turns out to be too long for it all the same, it is cut down
// and asked for once more: without its older results, and when that is not enough, or there are none, with the last
// round's results shortened as well. One large result would otherwise end the execution for good.
func (t *turn) askModel(ctx context.Context) (provider.Answer, *message, error) {
	if err := t.makeRoom(ctx); err != nil {
		return provider.Answer{}, nil, err
	}
	got, said, err := t.attempts(ctx)
	var tried []string
	for _, remedy := range []remedy{
		{t.cutOlder, "without its older tool results"},
		{t.trimLatest, "with the tool results of the last round shortened"},
	} {
		if domain.CodeOf(err) != domain.CodeContextOverflow {
			return got, said, err
		}
		helped, over := remedy.apply(ctx)
		switch {
		case over != nil:
			return provider.Answer{}, nil, over
		case helped:
			tried = append(tried, remedy.name)
			got, said, err = t.attempts(ctx)
		}
	}
	if domain.CodeOf(err) == domain.CodeContextOverflow {
		err = t.overflow(tried, err)
	}
	return got, said, err
}

// remedy makes a conversation shorter. It tells whether there was anything to shorten.
type remedy struct {
	apply func(context.Context) (bool, error)
	name  string
}

func (t *turn) cutOlder(ctx context.Context) (bool, error) {
	return t.shorten(ctx, reasonOverflow, math.MinInt64)
}

// overflow is the end. It says what was tried, so that nobody tries it again by hand.
func (t *turn) overflow(tried []string, cause error) error {
	also := "there is no tool result that could be shortened"
	if len(tried) > 0 {
		also = "also " + strings.Join(tried, " and ")
	}
	return &provider.Failure{Shown: domain.Errorf(domain.CodeContextOverflow,
		"The conversation is longer than model %q can read; %s.", t.agent.asked().model.Name, also).With(cause)}
}

// makeRoom cuts old results where the next request comes near the limit of the model. Where the limit is unknown, the
// provider's refusal tells it.
func (t *turn) makeRoom(ctx context.Context) error {
	limit := t.agent.asked().fullAt()
	if limit == 0 || t.estimate(t.view()) <= limit {
		return nil
	}
	_, err := t.shorten(ctx, reasonNearLimit, limit*roomy/100)
	return err
}

// fullAt is how many tokens a request may have before room is made; 0 = unknown.
func (c *candidate) fullAt() int64 {
	window := int64(c.model.ContextWindow)
	limit := window * nearLimit / 100
	if reserved := c.provider.Reserved; reserved != nil && window > 0 {
		limit = min(limit, window-int64(reserved(c.model)))
	}
	return limit
}

// shorten cuts old results, the oldest first, until the conversation has less than target tokens or no old result is
// left. It tells whether there was anything to cut.
func (t *turn) shorten(ctx context.Context, reason string, target int64) (bool, error) {
	view := t.view()
	before := t.estimate(view)
	after, results := before, 0
	for _, old := range oldResults(view) {
		if after < target {
			break
		}
		saved := tokens(len(old.text)) - tokens(len(old.line()))
		if t.agent.shortened[old.callID] || saved <= 0 {
			continue
		}
		if t.agent.shortened == nil {
			t.agent.shortened = map[string]bool{}
		}
		t.agent.shortened[old.callID] = true
		after, results = after-saved, results+1
	}
	if results == 0 {
		return false, nil
	}
	after = max(after, 0)
	if t.agent.measured > 0 {
		t.agent.measured = max(t.agent.measured-(before-after), 1)
	}
	return true, t.tellCompacted(ctx, reason, results, before, after)
}

func (t *turn) tellCompacted(ctx context.Context, reason string, results int, before, after int64) error {
	return t.host.Emit(ctx, domain.ContextCompacted{
		Turn: t.number, Reason: reason, Results: results, Before: before, After: after,
	})
}

// view is the conversation as the model is sent it. It is made anew from the history each time, so cutting twice is
// cutting once. Which results are cut is not in the log: a process that takes the execution up decides again, by the
// bytes alone until the provider has counted. From the same history it always decides the same.
func (t *turn) view() []domain.Message {
	history := orderly(t.history)
	if t.generates() {
		history = withoutAsides(history)
	}
	view := t.agent.mask.messages(history)
	turnBegins := lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for _, old := range oldResults(view) {
		if !t.agent.shortened[old.callID] {
			continue
		}
		view[old.at].Text = old.line()
		if old.askedAt < turnBegins { // in its own turn, some providers want it back
			view[old.askedAt].Thinking = nil
		}
	}
	t.trimView(view)
	return view
}

// estimate is how many tokens the next request will have: what the provider counted last, and a guess at what came since.
func (t *turn) estimate(view []domain.Message) int64 {
	total := t.agent.measured
	if total > 0 {
		view = view[1+lastIndex(view, func(m domain.Message) bool { return m.Role == domain.RoleAssistant }):]
	} else {
		total = tokens(len(t.system.Value()))
		for _, tool := range t.agent.tools.definitions {
			total += tokens(len(tool.Name) + len(tool.Description) + len(tool.Schema))
		}
	}
	for _, message := range view {
		size := len(message.Text) + len(message.Thinking)
		for _, call := range message.ToolCalls {
			size += len(call.Tool) + len(call.Arguments)
		}
		total += tokens(size) + messageTokens
	}
	return total
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// oldResult is a tool result that the model has gone on from.
type oldResult struct {
	at, askedAt int // in the view: the result, and the answer that asked for it
	callID      string
	tool        string
	text        string
}

// line is what is left of a result that is cut. It is made of the whole result, so it is the same whenever it is made.
func (r oldResult) line() string {
	begins := strings.ToValidUTF8(r.text[:min(len(r.text), 4*beginning)], "")
	return fmt.Sprintf("[result of %s, %s bytes, left out; it began: %s]", provider.OneLine(r.tool, beginning), grouped(len(r.text)), provider.OneLine(begins, beginning))
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
			old = append(old, oldResult{at: i, askedAt: asked, callID: message.ToolCallID, tool: calls[of].Tool, text: message.Text})
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

package llm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// Where the model's entry says so, the model itself writes a summary of the older part of a conversation that comes near its limit, and goes
// on from that and from the newest messages as they were. The summary stands in the log, for people and for the process that goes on.

//go:embed summary.md
var summaryText string

// Bounds of a summary.
const (
	maxSummaryBytes  = 16 << 10
	summaryTime      = 2 * time.Minute
	summarizedResult = 2 << 10 // bytes of a tool's result that the model reads for it
	keptPart         = 4       // the newest messages that stay fill at most one part in so many of the limit
	worthPart        = 8       // and what is summarized is at least one part in so many
)

// summarize has the model write a summary of what is older than the newest messages. It reports whether there is one: there may be nothing
// to summarize, or the model fails at it, which the log says; then the turn asks for none again.
func (t *turn) summarize(ctx context.Context, reason string, limit int64) (done bool, _ error) {
	asked := t.agent.models.asked()
	if asked.model.Compaction != provider.CompactionSummary || t.unsummarized {
		return false, nil
	}
	c := &t.agent.conversation
	wanted, some := c.unsummarized(limit)
	if !some {
		return false, nil
	}
	before := c.estimate(c.view())
	text, used, err := t.askSummary(ctx, asked, wanted.text)
	if errors.Is(err, domain.ErrBudgetSpent) || errors.Is(err, domain.ErrTreeBudgetSpent) || errors.Is(err, domain.ErrCostUnknown) {
		return false, err // no other request may be sent either
	}
	if ended := ctx.Err(); ended != nil {
		return false, ended
	}
	told := t.agent.account.countAside(asked, used, err == nil)
	if err != nil {
		t.unsummarized = true
		failure := domain.FailureOf(provider.ErrorOf(err).Shown)
		return false, t.host.Emit(ctx, append(told, domain.ContextSummaryFailed{
			Turn: t.number, Model: asked.model.Name, Code: failure.Code, Message: failure.Message,
		})...)
	}
	event := domain.ContextCompacted{
		Turn: t.number, Reason: reason, Before: before, Messages: wanted.messages, Summary: text, Model: asked.model.Name,
	}
	if len(told) > 0 {
		event.Usage = &used
	}
	c.compacted = append(c.compacted, event)
	event.After = c.estimate(c.view())
	c.compacted[len(c.compacted)-1] = event
	return true, t.host.Emit(ctx, append(told, event)...)
}

// askSummary asks once, without tools. What it costs is the third of what it returns, also where it fails.
func (t *turn) askSummary(ctx context.Context, asked *candidate, conversation string) (text string, _ domain.Usage, _ error) {
	limited, cancel := context.WithTimeout(ctx, summaryTime)
	defer cancel()
	sink := &summarySink{}
	settings := t.settings()
	settings.MaxOutputTokens = asked.model.MaxOutputTokens // the request's is about its answers, and may leave no room for a summary
	question := provider.Request{
		System: summaryText, Messages: []domain.Message{{Role: domain.RoleUser, Text: "<conversation>\n" + conversation + "\n</conversation>"}},
		Settings: settings,
	}
	reserved, err := t.reserve(limited, tokens(len(summaryText)+len(conversation)), settings)
	if err != nil {
		return "", domain.Usage{}, err
	}
	var answer provider.Answer
	defer func() { t.settle(reserved, answer, err) }()
	if err = t.tellRequest(ctx, question, true); err != nil {
		return "", domain.Usage{}, err
	}
	answer, err = asked.client.Stream(limited, question, sink)
	text = strings.TrimSpace(t.agent.mask.MaskString(sink.text.String()))
	switch {
	case errors.Is(limited.Err(), context.DeadlineExceeded) && err != nil:
		err = noSummary("took longer than %s", summaryTime)
	case errors.Is(err, errLongSummary), err == nil && answer.Finish == provider.FinishLength:
		err = noSummary("is too long")
	case err == nil && answer.Finish == provider.FinishRefusal:
		err = noSummary("was refused")
	case err == nil && text == "":
		err = noSummary("is empty")
	}
	return text, answer.Usage, err
}

func noSummary(format string, args ...any) error {
	return &provider.Error{Shown: domain.Errorf(domain.CodeModelFailed, "The model's summary "+format+".", args...)}
}

var errLongSummary = errors.New("llm: the summary is too long")

// summarySink keeps the text of a summary. Thoughts are for the model alone.
type summarySink struct{ text strings.Builder }

// Text implements [provider.Sink].
func (s *summarySink) Text(text string) error {
	if s.text.Len()+len(text) > maxSummaryBytes {
		return errLongSummary
	}
	s.text.WriteString(text)
	return nil
}

// Thought implements [provider.Sink].
func (s *summarySink) Thought(string) error { return nil }

// unsummarized is what a summary is to be made of.
type unsummarized struct {
	messages int // that it stands for; results are no messages of their own
	text     string
}

// unsummarized returns the older part of the conversation, with its earlier summary; none where it is too little. The newest part stays as
// it is, from a message or an answer on, so that no call loses its result.
func (c *conversation) unsummarized(limit int64) (unsummarized, bool) {
	whole, earlier := c.mask.messages(c.whole()), c.summary()
	begins := starts(whole)
	all := 0
	for _, message := range whole {
		all += int(guess(message))
	}
	if limit <= 0 {
		limit = int64(all)
	}
	kept, cut := int64(0), len(begins)-1 // the newest message stays, however long it is
	for i := len(begins) - 1; i > 0; i-- {
		ends := len(whole)
		if i+1 < len(begins) {
			ends = begins[i+1]
		}
		for _, message := range whole[begins[i]:ends] {
			kept += guess(message)
		}
		if kept > limit/keptPart {
			break
		}
		cut = i
	}
	if cut <= earlier.Messages {
		return unsummarized{}, false
	}
	older := whole[begins[earlier.Messages]:begins[cut]]
	size := int64(0)
	for _, message := range older {
		size += guess(message)
	}
	if size < limit/worthPart {
		return unsummarized{}, false
	}
	room := int(limit) * bytesPerToken / 2
	if counted, guessed := c.estimate(c.view()), int64(all)+c.fixed; counted > guessed && guessed > 0 { // it has more tokens than its bytes tell
		room = int(int64(room) * guessed / counted)
	}
	return unsummarized{messages: cut, text: written(older, earlier.Summary, room)}, true
}

// starts are the places of all messages that are no results.
func starts(messages []domain.Message) (at []int) {
	for i, message := range messages {
		if message.Role != domain.RoleTool {
			at = append(at, i)
		}
	}
	return at
}

// written is a conversation as a text of about so many bytes.
func written(messages []domain.Message, earlier string, room int) string {
	var text strings.Builder
	if earlier != "" {
		fmt.Fprintf(&text, "[summary of what was before]\n%s\n\n", earlier)
	}
	for _, message := range messages {
		said := message.Text
		if message.Role == domain.RoleTool && len(said) > summarizedResult+worthNote {
			said = withoutMiddle(said, summarizedResult)
		}
		fmt.Fprintf(&text, "[%s]\n%s\n", message.Role, said)
		for _, part := range domain.FileParts(message.Parts) {
			fmt.Fprintln(&text, part.Mention())
		}
		for _, call := range message.ToolCalls {
			fmt.Fprintf(&text, "[call of %s]\n%.2000s\n", call.Tool, call.Arguments)
		}
		text.WriteByte('\n')
	}
	whole := strings.ReplaceAll(text.String(), "</conversation", "<_conversation") // it would end before its end
	if len(whole) <= room {
		return whole
	}
	head := strings.ToValidUTF8(whole[:room/2], "")
	tail := whole[len(whole)-room/2:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "\n\n[… the middle of the conversation is left out …]\n\n" + tail
}

// summary is the newest one; without a text there is none.
func (c *conversation) summary() (newest domain.ContextCompacted) {
	if at := c.summarizedBy(); at > 0 {
		return c.compacted[at-1]
	}
	return newest
}

// summarizedBy says which compaction made the newest summary, from 1; 0 = none.
func (c *conversation) summarizedBy() int {
	return 1 + lastCompaction(c.compacted, func(done domain.ContextCompacted) bool { return done.Summary != "" })
}

func lastCompaction(list []domain.ContextCompacted, is func(domain.ContextCompacted) bool) int {
	for i := len(list) - 1; i >= 0; i-- {
		if is(list[i]) {
			return i
		}
	}
	return -1
}

// summarized puts the summary in place of the messages that it stands for. The prompt of a turn that is cut within stays.
func summarized(history []domain.Message, by domain.ContextCompacted) []domain.Message {
	begins := starts(history)
	if by.Summary == "" || by.Messages >= len(begins) { // or the log is another than the one that was summarized
		return history
	}
	at := begins[by.Messages]
	older, rest := history[:at], history[at:]
	opening := domain.Message{Role: domain.RoleUser}
	if rest[0].Role == domain.RoleUser {
		opening, rest = rest[0], rest[1:]
	} else if prompt := lastIndex(older, func(m domain.Message) bool { return m.Role == domain.RoleUser }); prompt >= 0 {
		opening = older[prompt]
	}
	before := "[The conversation before this was left out. This is a summary of it, which you wrote.]\n" + by.Summary + "\n[The end of the summary.]"
	opening.Text = strings.TrimSpace(before + "\n\n" + opening.Text)
	if opening.Parts != nil {
		opening.Parts = append([]domain.PromptPart{{Type: domain.PartText, Text: before}}, opening.Parts...)
	}
	return append([]domain.Message{opening}, rest...)
}

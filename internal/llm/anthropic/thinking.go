package anthropic

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// What Anthropic wants back of an answer is its thoughts, each a [provider.Part] of the kind partThought. A thought is signed: sent
// back with one character changed, the whole request is refused. So the log's text, where secrets may be masked, is never what is
// sent; this is.
const partThought = "anthropic.thought"

// oldState is the form of [domain.Message].State in logs of earlier versions.
type oldState struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Blocks   []thinkingBlock `json:"blocks"`
}

// thinkingBlock is one thought and its place in the answer. It has a signature, or is redacted: then the vendor has
// encrypted it, and Redacted is all there is. Both go back, unchanged, wherever they stood in the answer:
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks
type thinkingBlock struct {
	AfterText  int    `json:"afterText,omitempty"`  // characters of text before it
	AfterCalls int    `json:"afterCalls,omitempty"` // calls before it
	Thinking   string `json:"thinking,omitempty"`
	Signature  string `json:"signature,omitempty"`
	Redacted   string `json:"redacted,omitempty"`
}

func (b thinkingBlock) param() block {
	if b.Redacted != "" {
		return block{Type: "redacted_thinking", Data: b.Redacted}
	}
	return block{Type: "thinking", Thinking: &b.Thinking, Signature: b.Signature}
}

// thoughtReader collects the thoughts of an answer as they arrive. One block is open at a time.
type thoughtReader struct {
	blocks          []thinkingBlock
	open            *thinkingBlock
	text, signature strings.Builder // of the open block
}

func (r *thoughtReader) begin(afterText, afterCalls int) {
	r.open = &thinkingBlock{AfterText: afterText, AfterCalls: afterCalls}
	r.text.Reset()
	r.signature.Reset()
}

// end closes the open block, if there is one. A thought without a signature, which some gateways make, is not kept: it
// would be refused when it comes back.
func (r *thoughtReader) end() {
	block := r.open
	r.open = nil
	if block == nil {
		return
	}
	block.Thinking, block.Signature = r.text.String(), r.signature.String()
	if block.Signature != "" || block.Redacted != "" {
		r.blocks = append(r.blocks, *block)
	}
}

// state is what was thought, as it comes back.
func (r *thoughtReader) state() (parts []provider.Part) {
	for _, block := range r.blocks {
		parts = append(parts, provider.Part{Kind: partThought, JSON: domain.Encode(block)})
	}
	return parts
}

// thoughts are the blocks of a message that this model may have back.
func (m model) thoughts(message domain.Message) (blocks []thinkingBlock) {
	for _, part := range m.maker.StateOf(message).Parts {
		var block thinkingBlock
		if part.Kind == partThought && json.Unmarshal(part.JSON, &block) == nil {
			blocks = append(blocks, block)
		}
	}
	var old oldState
	if blocks == nil && json.Unmarshal(message.State, &old) == nil && old.Provider == Name && old.Model == m.name {
		return old.Blocks
	}
	return blocks
}

// thinkingMode tells the model whether to think. A newer model decides for itself how much; an older one has a budget,
// and with a budget the API refuses a conversation whose open round of tools does not begin with a thought. There may
// be none: another model may have begun the round, or a restart. Such a request is sent without thinking.
func (m model) thinkingMode(request provider.Request) *thinking {
	switch {
	case !willThink(m.entry, request.Settings):
		if request.Settings.Effort == domain.EffortNone && sinceClaude(m.name, 5, 0) { // which think unless they are told not to
			return &thinking{Type: "disabled"}
		}
		return nil
	case decidesItself(m.name):
		return &thinking{Type: "adaptive", Display: "summarized"} // some models keep their thoughts to themselves otherwise
	case !m.remembers(request.Messages):
		return nil
	default:
		return &thinking{Type: "enabled", BudgetTokens: budget(m.entry, request.Settings)}
	}
}

// remembers tells whether the open round of tools begins with a thought, or there is none open. The round goes back to
// the last thing that the user said; what they said right behind a result is taken for a part of it.
func (m model) remembers(messages []domain.Message) bool {
	var opening *domain.Message
	for i := len(messages) - 1; i >= 0; i-- {
		message := &messages[i]
		if message.Role == domain.RoleUser && (i == 0 || messages[i-1].Role != domain.RoleTool) {
			break
		}
		if message.Role == domain.RoleAssistant && len(message.ToolCalls) > 0 {
			opening = message
		}
	}
	if opening == nil {
		return true
	}
	first := m.thoughts(*opening)
	return len(first) > 0 && first[0].AfterText == 0 && first[0].AfterCalls == 0
}

// claudes finds the version in the names of models since Claude 4: claude-opus-4-6, claude-sonnet-4-20250514,
// us.anthropic.claude-opus-4-6-v1:0. Older names have the version before the word.
var claudes = regexp.MustCompile(`claude-[a-z]+(?:-(\d{1,2})(?:[-.](\d{1,2}))?)?(?:[^0-9a-z]|$)`)

// decidesItself tells whether the model thinks as it sees fit. Claude 4.6 was the first that does, and the models after
// it refuse a budget. A name that says nothing of Claude is some gateway's, and takes what was there first.
func decidesItself(model string) bool {
	return sinceClaude(model, 4, 6)
}

// sinceClaude reports whether a model is a Claude of this version, or newer. One whose name has no version is the newest.
func sinceClaude(model string, major, minor int) bool {
	version := claudes.FindStringSubmatch(strings.ToLower(model))
	if version == nil {
		return false
	}
	if version[1] == "" {
		return true
	}
	its, _ := strconv.Atoi(version[1])
	itsMinor, _ := strconv.Atoi(version[2])
	return its > major || (its == major && itsMinor >= minor)
}

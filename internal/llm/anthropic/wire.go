package anthropic

import (
	"encoding/json"

	"signoff/internal/domain"
)

// Name is what the configuration calls the provider.
const Name = "anthropic"

// body is the body of a request for one streamed answer. It has the fields that we send, of the many that the API knows.
type body struct {
	Model     string    `json:"model"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream"`
	System    []block   `json:"system,omitempty"`
	Messages  []message `json:"messages"`
	Thinking  *thinking `json:"thinking,omitempty"`
	Tools     []tool    `json:"tools,omitempty"`

	Temperature *float64    `json:"temperature,omitempty"`
	ToolChoice  *toolChoice `json:"tool_choice,omitempty"`

	OutputConfig *outputConfig `json:"output_config,omitempty"`
}

// toolChoice is whether one answer may have several calls: https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use#parallel-tool-use
type toolChoice struct {
	Type            string `json:"type"`
	DisableParallel bool   `json:"disable_parallel_tool_use"`
}

// outputConfig is how the model answers.
type outputConfig struct {
	Effort domain.Effort `json:"effort,omitempty"`
	Format *format       `json:"format,omitempty"`
}

// format holds the text of an answer to a schema.
type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// message is what one side says in its turn.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// The sides of a conversation. A tool's result comes from the user.
const (
	user      = "user"
	assistant = "assistant"
)

// block is a part of a message: a text, a thought, a call, or a result. Its type says which fields it has.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Thinking     *string         `json:"thinking,omitempty"` // also the empty one: a thought may be a signature alone
	Signature    string          `json:"signature,omitempty"`
	Data         string          `json:"data,omitempty"`  // of a redacted thought
	ID           string          `json:"id,omitempty"`    // of a call, as the name and the input
	Name         string          `json:"name,omitempty"`  //
	Input        json.RawMessage `json:"input,omitempty"` //
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      []block         `json:"content,omitempty"` // of a result
	Source       *source         `json:"source,omitempty"`  // of a picture or a document
	Title        string          `json:"title,omitempty"`   // of a document
	CacheControl *cacheMark      `json:"cache_control,omitempty"`
}

// source is the content of a picture or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// cacheMark marks the end of what the vendor should keep in its cache.
type cacheMark struct {
	Type string `json:"type"`
}

// ephemeral is a mark for five minutes; the price factors of [Provider] are those of this cache.
func ephemeral() *cacheMark { return &cacheMark{Type: "ephemeral"} }

// thinking tells the model whether and how much to think; see thinkingMode.
type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

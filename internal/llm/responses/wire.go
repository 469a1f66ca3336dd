package responses

import (
	"encoding/json"

	"signoff/internal/domain"
)

// body is the body of a request for one streamed answer. It has the fields that we send, of the many that the API knows.
type body struct {
	Model        string            `json:"model"`
	Stream       bool              `json:"stream"`
	Store        bool              `json:"store"` // false: the vendor keeps nothing
	Include      []string          `json:"include"`
	Instructions string            `json:"instructions,omitempty"`
	Input        []json.RawMessage `json:"input"`
	Tools        []tool            `json:"tools,omitempty"`
	CacheKey     string            `json:"prompt_cache_key,omitempty"`
	Text         *text             `json:"text,omitempty"`

	Reasoning         *reasoning `json:"reasoning,omitempty"`
	MaxOutputTokens   int        `json:"max_output_tokens,omitempty"`
	Temperature       *float64   `json:"temperature,omitempty"`
	ParallelToolCalls *bool      `json:"parallel_tool_calls,omitempty"`
}

// reasoning is how much the model reasons. Of what it has reasoned, the vendor shows a summary, if it is asked for one; models that do not reason
// refuse the question: https://platform.openai.com/docs/guides/reasoning#reasoning-summaries
type reasoning struct {
	Effort  domain.Effort `json:"effort"`
	Summary string        `json:"summary,omitempty"`
}

// encrypted has the vendor send what its model reasoned, for the model alone to read.
const encrypted = "reasoning.encrypted_content"

// message is an item: what one side says.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or a list of [contentPart]
}

// contentPart is a part of what the user says, or of a result. Its type says which fields it has.
type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

// call is an item: a call of the model. Its own items go back as they came; this is one of another model, or of a log without them.
type call struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// result is an item: what came of a call.
type result struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a text, or a list of [contentPart]
}

// tool is a function. The API's default is strict, which few schemas are written for.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// text holds the text of an answer to a schema: https://platform.openai.com/docs/guides/structured-outputs
type text struct {
	Format format `json:"format"`
}

type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

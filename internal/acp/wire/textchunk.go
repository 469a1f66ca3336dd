package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
)

// TextChunk is a notification that carries a piece of what the agent says or thinks, and nothing else. Nearly all of an
// agent's messages are of this kind, so they are read without the SDK, and without a map for each object.
type TextChunk struct {
	Params    json.RawMessage // as they were written
	Session   string
	MessageID string // empty where the agent gives none
	Thought   bool
	Text      string // not empty
}

// ReadTextChunk reads a line that is a plain chunk of text, in whatever order and spacing its members come. It declines
// every other line, also one that is no JSON: an unknown or repeated member, an id, another type, an escape in a name.
// What it reads is what [readEnvelope] and [ReadObject] read in the line: a fuzz test compares them.
func ReadTextChunk(line []byte) (chunk TextChunk, is bool) {
	if domain.TooDeep(line) || !utf8.Valid(line) || !gjson.ValidBytes(line) {
		return chunk, false
	}
	message, isMessage := plainObject(gjson.ParseBytes(line), `"jsonrpc"`, `"method"`, `"params"`)
	params, hasParams := plainObject(message[2], `"sessionId"`, `"update"`)
	update, hasUpdate := plainObject(params[1], `"sessionUpdate"`, `"messageId"`, `"content"`)
	content, hasContent := plainObject(update[2], `"type"`, `"text"`)
	version, kind, messageID := message[0], update[0].Raw, update[1]
	if !isMessage || !hasParams || !hasUpdate || !hasContent || content[0].Raw != `"text"` || message[1].Raw != `"session/update"` ||
		version.Exists() && version.Raw != `"2.0"` || messageID.Exists() && messageID.Type != gjson.String {
		return chunk, false
	}
	chunk = TextChunk{
		Params: json.RawMessage(message[2].Raw), Session: plainText(params[0]), MessageID: plainText(messageID),
		Thought: kind == `"agent_thought_chunk"`, Text: plainText(content[1]),
	}
	return chunk, (chunk.Thought || kind == `"agent_message_chunk"`) && chunk.Session != "" && chunk.Text != ""
}

// plainObject reads an object that has no other members than these, and none of them twice. The names are as they are written.
func plainObject(object gjson.Result, names ...string) (values [3]gjson.Result, is bool) {
	is = object.IsObject()
	object.ForEach(func(name, value gjson.Result) bool {
		at := slices.Index(names, name.Raw)
		if is = is && at >= 0 && !values[at].Exists(); is {
			values[at] = value
		}
		return is
	})
	return values, is
}

// plainText is a string as [Object.Text] reads it; gjson replaces other lone surrogates.
func plainText(value gjson.Result) (text string) {
	if !strings.Contains(value.Raw, `\u`) {
		return value.Str
	}
	_ = json.Unmarshal([]byte(value.Raw), &text)
	return text
}

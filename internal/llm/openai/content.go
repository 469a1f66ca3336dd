package openai

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// partContent is the content of a message that came as a list: of Mistral's reasoning models, thoughts and texts. The list goes back as it came;
// a plain text in its place loses the thoughts: https://docs.mistral.ai/capabilities/reasoning/
const partContent = "content"

const (
	chunkThinking = "thinking"
	chunkText     = "text"
)

// contentList collects such a list, which comes in pieces.
type contentList struct {
	chunks []*contentChunk
	plain  bool // there was text before it that is not in it, so it is not the whole content
}

// contentChunk is an element of the list.
type contentChunk struct {
	kind      string
	text      strings.Builder
	signature string // of a thought; it is replayed with it
	closed    *bool  // of a thought; nil: the vendor does not say
}

// add goes on with the newest element, or begins another: of another kind, or behind a signature, which is of all before it.
func (l *contentList) add(kind, text string) {
	last := len(l.chunks) - 1
	if last < 0 || l.chunks[last].kind != kind || l.chunks[last].signature != "" {
		l.chunks, last = append(l.chunks, &contentChunk{kind: kind}), last+1
	}
	l.chunks[last].text.WriteString(text)
}

// close takes what the vendor says of the newest thought: whether it is closed, and its signature.
// https://github.com/mistralai/client-ts/blob/main/src/models/components/thinkchunk.ts
func (l *contentList) close(thought gjson.Result) {
	last := len(l.chunks) - 1
	if last < 0 || l.chunks[last].kind != chunkThinking {
		return
	}
	if closed := provider.Field(thought, "closed"); closed.IsBool() {
		l.chunks[last].closed = new(closed.Bool())
	}
	l.chunks[last].signature = cmp.Or(provider.Field(thought, "signature").Str, l.chunks[last].signature)
}

// addPlain takes a text that came by itself. Texts of an answer that has no list are in the log, and nowhere else.
func (l *contentList) addPlain(text string) {
	switch {
	case text == "":
	case len(l.chunks) == 0:
		l.plain = true
	default:
		l.add(chunkText, text)
	}
}

// parts returns the list, if there is a thought in it.
func (l *contentList) parts() []provider.Part {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type thinking struct {
		Type      string `json:"type"`
		Thinking  []text `json:"thinking"`
		Signature string `json:"signature,omitempty"`
		Closed    *bool  `json:"closed,omitempty"`
	}
	var list []any
	thinks := false
	for _, chunk := range l.chunks {
		said := text{chunkText, chunk.text.String()}
		if chunk.kind == chunkText {
			list = append(list, said)
			continue
		}
		list, thinks = append(list, thinking{chunkThinking, []text{said}, chunk.signature, chunk.closed}), true
	}
	if !thinks || l.plain {
		return nil
	}
	return []provider.Part{{Kind: partContent, JSON: domain.Encode(list)}}
}

// takeContent reads the elements of a list.
func (r *reader) takeContent(chunk gjson.Result) error {
	switch provider.Field(chunk, "type").Str {
	case chunkText:
		text := provider.Field(chunk, "text").Str
		r.content.add(chunkText, text)
		return r.split.write(text)
	case chunkThinking:
		err := provider.Elements(provider.Field(chunk, chunkThinking), func(piece gjson.Result) error {
			thought := provider.Field(piece, "text").Str
			if thought == "" {
				return nil
			}
			r.content.add(chunkThinking, thought)
			return r.sink.Thought(thought)
		})
		r.content.close(chunk)
		return err
	}
	return nil // another kind of element, such as a reference to a source
}

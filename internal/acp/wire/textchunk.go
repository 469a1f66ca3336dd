package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// TextChunk is a notification that carries a piece of what the agent says or thinks, and nothing else. Nearly all of an
// agent's messages are of this kind, so they are read in one pass and without the SDK.
type TextChunk struct {
	Params    json.RawMessage // as they were written; they hold until the next line is read
	Session   string
	MessageID string // empty where the agent gives none
	Thought   bool
	Text      string // not empty
}

// ReadTextChunk reads a line that is a plain chunk of text, in whatever order and spacing its members come. It declines
// every other line, also one that is no JSON: an unknown or repeated member, an id, another type, an escape in a name.
// What it reads is what [readEnvelope] and [ReadObject] read in the line: a fuzz test compares them.
func ReadTextChunk(line []byte) (chunk TextChunk, is bool) {
	r := chunkReader{text: line}
	is = r.object(r.message) && r.at == len(line) && r.complete() && utf8.Valid(line)
	return r.chunk, is
}

// chunkReader reads one line from left to right.
type chunkReader struct {
	text  []byte
	at    int
	seen  chunkMember
	chunk TextChunk
}

// chunkMember is a set of members that a chunk may have.
type chunkMember uint

const (
	memberVersion chunkMember = 1 << iota
	memberMethod
	memberParams
	memberSession
	memberUpdate
	memberKind
	memberMessageID
	memberContent
	memberType
	memberText

	membersRequired = memberMethod | memberParams | memberSession | memberUpdate | memberKind | memberContent | memberType | memberText
)

// complete tells whether nothing is missing. A chunk without text, or of no session, is for the other readers to judge.
func (r *chunkReader) complete() bool {
	return r.seen&membersRequired == membersRequired && r.chunk.Text != "" && r.chunk.Session != ""
}

func (r *chunkReader) message(name []byte) bool {
	switch string(name) {
	case `"jsonrpc"`:
		return r.first(memberVersion) && string(r.quoted()) == `"2.0"`
	case `"method"`:
		return r.first(memberMethod) && string(r.quoted()) == `"session/update"`
	case `"params"`:
		from := r.at
		is := r.first(memberParams) && r.object(r.parameter)
		r.chunk.Params = r.text[from:r.at]
		return is
	}
	return false
}

func (r *chunkReader) parameter(name []byte) bool {
	switch string(name) {
	case `"sessionId"`:
		return r.first(memberSession) && r.string(&r.chunk.Session)
	case `"update"`:
		return r.first(memberUpdate) && r.object(r.update)
	}
	return false
}

func (r *chunkReader) update(name []byte) bool {
	switch string(name) {
	case `"sessionUpdate"`:
		kind := r.quoted()
		r.chunk.Thought = string(kind) == `"agent_thought_chunk"`
		return r.first(memberKind) && (r.chunk.Thought || string(kind) == `"agent_message_chunk"`)
	case `"messageId"`:
		return r.first(memberMessageID) && r.string(&r.chunk.MessageID)
	case `"content"`:
		return r.first(memberContent) && r.object(r.content)
	}
	return false
}

func (r *chunkReader) content(name []byte) bool {
	switch string(name) {
	case `"type"`:
		return r.first(memberType) && string(r.quoted()) == `"text"`
	case `"text"`:
		return r.first(memberText) && r.string(&r.chunk.Text)
	}
	return false
}

// first tells whether a member comes for the first time, and notes that it has come.
func (r *chunkReader) first(member chunkMember) bool {
	again := r.seen&member != 0
	r.seen |= member
	return !again
}

// object reads an object that has at least one member; member reads the value behind a name, which comes with its quotes.
func (r *chunkReader) object(member func(name []byte) bool) bool {
	if !r.sign('{') {
		return false
	}
	for {
		r.space()
		name := r.quoted()
		if name == nil || !r.sign(':') {
			return false
		}
		r.space()
		if !member(name) {
			return false
		}
		if !r.sign(',') {
			return r.sign('}')
		}
	}
}

// sign reads a sign of punctuation and the space before it.
func (r *chunkReader) sign(wanted byte) bool {
	r.space()
	is := r.at < len(r.text) && r.text[r.at] == wanted
	if is {
		r.at++
	}
	return is
}

func (r *chunkReader) space() {
	for r.at < len(r.text) && isSpace(r.text[r.at]) {
		r.at++
	}
}

// quoted reads a string as it was written; nil is none. Whether its escapes are valid is not looked at.
func (r *chunkReader) quoted() []byte {
	from := r.at
	if from >= len(r.text) || r.text[from] != '"' {
		return nil
	}
	for i := from + 1; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.at = i + 1
			return r.text[from:r.at]
		case c == '\\':
			i++
		case c < ' ':
			return nil
		}
	}
	return nil
}

// string reads a string as the text that it means.
func (r *chunkReader) string(into *string) bool {
	quoted := r.quoted()
	if quoted == nil {
		return false
	}
	plain := quoted[1 : len(quoted)-1]
	for _, c := range plain {
		if c == '\\' {
			return json.Unmarshal(quoted, into) == nil
		}
	}
	*into = string(plain)
	return true
}

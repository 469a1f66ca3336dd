package wire

// ProtocolError is something on the agent's stdout that was no message, or none that could be handed on.
type ProtocolError struct {
	Kind   ProtocolErrorKind
	Size   int64  // of the line, in bytes
	Sample string // how it begins: at most 512 bytes of valid UTF-8
	ID     string // in JSON, as far as it could be seen
	Method string // the same
	Count  int    // of the errors of this connection, with this one
}

// ProtocolErrorKind says what was wrong with a line.
type ProtocolErrorKind string

const (
	lineIsNoise      ProtocolErrorKind = "noise"         // no JSON, or no JSON-RPC
	lineIsTooLong    ProtocolErrorKind = "tooLong"       // refused: more than lineLimit
	lineIsTooDeep    ProtocolErrorKind = "tooDeep"       // refused: more than domain.MaxDepth levels
	lineIsBroken     ProtocolErrorKind = "broken"        // refused: not quite JSON, but with the id of a request or a call
	lineIsNotUTF8    ProtocolErrorKind = "notUTF8"       // repaired and handed on
	lineIsUnexpected ProtocolErrorKind = "unexpected"    // an answer to nothing that was asked, or a second one
	lineIsOneTooMany ProtocolErrorKind = "tooManyAtOnce" // refused: too many requests are open
)

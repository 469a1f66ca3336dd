package mcp

import (
	"encoding/json"

	"signoff/internal/domain"
)

// Tool is a tool of a server, as the server defines it at this moment.
type Tool struct {
	domain.MCPTool // with its Canonical
	Description    string
	InputSchema    json.RawMessage // as the server sent it
	OutputSchema   json.RawMessage // nil: the server gives none
}

// Call is one request to a tool.
type Call struct {
	Server, Tool string
	Definition   string // hash of the definition that was allowed; another one is refused before anything is sent
	Arguments    json.RawMessage

	// Repeat and Answer go on with a call whose server has asked a question: both nil for a first request.
	Repeat json.RawMessage
	Answer *domain.Answer

	// Progress is called for each notification of progress, by one goroutine at a time. nil: nobody wants to know.
	Progress func(Progress)

	// Ask answers a question that comes inside the open call, as servers before the revision 2026-07-28 ask. The time of the call stands still meanwhile.
	Ask func(form json.RawMessage) (domain.Answer, error)
}

// Progress is how far a call is.
type Progress struct {
	Done    float64
	Total   float64 // 0: the server does not say
	Message string
}

// Answer is the answer to a [Call]: a result, or a question.
type Answer struct {
	Result Result
	Form   json.RawMessage // the question: {message, schema}, and url and host where a page has to be opened; nil: Result is the answer
	Repeat json.RawMessage // with Form: what the request is repeated with
}

// Result is the result of a tool.
type Result struct {
	Text       string          // what people and the model read: all text, with notes about what is no text
	Structured json.RawMessage // structuredContent; nil: there is none
	Failed     bool            // the tool says that it has failed
	Files      []Blob          // pictures and audio
}

// Blob is a file of a result.
type Blob struct {
	Name      string
	MediaType string // as the server says; nobody has looked
	Content   []byte
}

package domain

import "encoding/json"

// Bounds of an [Inquiry]: a server may ask for ever, and as long as it likes.
const (
	MaxInquiries     = 10 // in one call
	MaxInquiryForm   = 64 << 10
	MaxInquiryRepeat = 256 << 10
)

// PausedRequest is the request of a call that does not run until a person has answered a question of its MCP server; see [Inquiry]. It is private,
// like an [AnswerState]: it is kept beside the log, where no route reads it.
type PausedRequest struct {
	ToolCallID string
	Approval   ApprovalID // the question
	Repeat     json.RawMessage
}

package domain

import "encoding/json"

// AnswerState is what a model wants back of one of its whole answers: see [Message].State. It is private. It is kept beside the log, where no
// route reads it, and it is never altered: a vendor signs it.
type AnswerState struct {
	MessageID string // of the answer
	State     json.RawMessage
}

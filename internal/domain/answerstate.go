package domain

import "encoding/json"

// AnswerState is what a model wants back of one of its whole answers: see [Message].State. It is private. It is kept beside the log, where no
// route reads it, and it is never altered: a vendor signs it.
type AnswerState struct {
	MessageID string // of the answer
	State     json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler]: it also reads the state, which servers before [AnswerState] wrote into the log.
func (t *ThoughtCompleted) UnmarshalJSON(data []byte) error {
	type written ThoughtCompleted
	var thought struct {
		written
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := json.Unmarshal(data, &thought); err != nil {
		return err
	}
	*t = ThoughtCompleted(thought.written)
	t.Thinking = thought.Thinking
	return nil
}

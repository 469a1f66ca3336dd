package llm

import (
	"context"
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// provider asks a vendor's model. It is the only thing that differs between vendors, and keeps nothing between two
// requests: the whole conversation travels each time.
type provider interface {
	// Stream sends one request, once, and hands on what the model thinks and says as it arrives, from the calling
	// goroutine. It returns when the answer has come to its end. It never repeats anything: that is the agent's.
	//
	// Its error is a [*failure], or ctx's, or sink's, unchanged. Beside an error, the answer has the usage that the vendor
	// had told by then, and nothing else.
	Stream(ctx context.Context, request request, sink sink) (answer, error)
}

// request is one question to a model. Its messages are in good order, see orderly.
type request struct {
	system   string
	messages []domain.Message
	tools    []tools.Definition
}

// sink takes what the model says. When it fails, nobody listens any more.
type sink interface {
	Text(text string) error
	Thought(text string) error
	// Thinking takes what the provider wants back of all that was thought so far, in place of what it took before.
	Thinking(state json.RawMessage) error
}

// answer is what a whole answer amounts to, besides its text.
type answer struct {
	calls  []modelCall
	finish finish
	usage  domain.Usage // of this request; the cache's figures are parts of the input, the reasoning of the output
}

// mostTokens is more than any request has; a larger figure is nonsense, and sums of it would overflow.
const mostTokens = 1 << 40

// plausible is a figure that a provider reported, or nil.
func plausible(tokens *int64) *int64 {
	if tokens == nil || *tokens < 0 || *tokens > mostTokens {
		return nil
	}
	return tokens
}

// modelCall is a tool call as the model wrote it. The provider's id is not kept: ids come empty, doubled and used
// again, so each call gets one of ours, which the model sees from then on.
type modelCall struct {
	name      string
	arguments string
}

// finish is why the model stopped.
type finish int

const (
	finishStop    finish = iota // it has said what it wanted, or wants tools
	finishLength                // its token limit
	finishRefusal               // it, or a filter behind it, declined
)

package llm

import (
	"context"
	"unique"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

// A turn that is to generate blocks ends when they are handed in, and not before. What cannot be used goes back to the model,
// which gets it right in the next round most of the time; one that does not in three is not asked a fourth time.

const (
	toolSubmitBlocks = "submit_blocks"
	maxSubmissions   = 3
)

func (t *turn) generates() bool { return t.agent.task.kind == domain.KindGeneration }

// submit hands in the blocks of a call. The call gets no result: the person's decision is its result, and may take days.
func (t *turn) submit(ctx context.Context, tool tools.SubmitBlocks, call *domain.ToolCall) (string, error) {
	blocks, err := tool.Blocks(call.Arguments)
	if err != nil {
		return t.refuse(ctx, call.ID, err)
	}
	if err := t.host.SubmitBlocks(ctx, *call, blocks); err != nil {
		return "", err
	}
	t.submitted = call.ID // no other call of the answer comes here
	return "", nil
}

// single refuses all submissions of an answer but the first: the blocks of two would have to be one generation.
func (t *turn) single(calls []pendingCall) {
	seen := false
	for i, call := range calls {
		if call.Tool != toolSubmitBlocks || !t.generates() {
			continue
		}
		if seen {
			calls[i].flaw = domain.Errorf(domain.CodeInvalidArguments,
				"Blocks are handed in once in an answer, all of them together. This second call was passed over.")
		}
		seen = true
	}
}

// outcome tells how a turn ends that has handed in blocks, or has tried in vain too often. It is empty where the turn goes on.
func (t *turn) outcome() (domain.StopReason, error) {
	switch {
	case t.submitted != "":
		return domain.StopEndTurn, nil
	case t.generates() && t.attempted() >= maxSubmissions:
		return "", domain.Errorf(domain.CodeGenerationFailed,
			"The model has handed in blocks %d times, and none of them could be used.", maxSubmissions)
	default:
		return "", nil
	}
}

// attempted counts the answers of this turn that handed something in. The history has them, so that a restart does not give the
// model more attempts.
func (t *turn) attempted() (count int) {
	begins := lastIndex(t.history, func(m domain.Message) bool { return m.Role == domain.RoleUser })
	for _, message := range t.history[begins+1:] {
		for _, call := range message.ToolCalls {
			if call.Tool == toolSubmitBlocks {
				count++
				break
			}
		}
	}
	return count
}

// silent is the end of an answer that asks for nothing. A model that was to hand in blocks is told once more to do so: in the
// system prompt, since nobody has said anything that could stand in the conversation. What it has said instead is left out of
// the conversation, here and, by withoutAsides, in later turns; an answer that goes on behind an answer is more than some providers take.
func (t *turn) silent() (domain.StopReason, error) {
	switch {
	case !t.generates():
		return domain.StopEndTurn, nil
	case t.nudged:
		return "", domain.Errorf(domain.CodeGenerationFailed, "The model has handed in no blocks, also after it was told to.")
	default:
		t.nudge()
		return "", nil
	}
}

func (t *turn) nudge() {
	t.nudged = true
	t.system = unique.Make(paragraphs([]string{t.system.Value(), generatorNudgeText}))
}

// takeBack undoes what a restart has found at the end of the history: answers that handed in nothing.
func (t *turn) takeBack() (said int) {
	for t.generates() && t.answered() {
		t.history = t.history[:len(t.history)-1]
		said++
	}
	return said
}

package llm

import "signoff/internal/domain"

// A turn that is to generate blocks ends when they are handed in, and not before. What cannot be used goes back to the model,
// which gets it right in the next round most of the time; one that does not in three is not asked a fourth time.

const maxSubmissions = 3

// single refuses all submissions of an answer but the first: the blocks of two would have to be one generation.
func (t *turn) single(calls []pendingCall) {
	seen := false
	for i, call := range calls {
		if call.Tool != toolSubmitBlocks || !t.agent.conversation.generates {
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
	case t.runner.submitted != "":
		return domain.StopEndTurn, nil
	case t.agent.conversation.generates && t.agent.conversation.submissions() >= maxSubmissions:
		return "", domain.Errorf(domain.CodeGenerationFailed,
			"The model has handed in blocks %d times, and none of them could be used.", maxSubmissions)
	default:
		return "", nil
	}
}

// silent is the end of an answer that asks for nothing. A model that was to hand in blocks is told once more to do so: in the
// system prompt, since nobody has said anything that could stand in the conversation. What it has said instead is left out of
// the conversation, here and, by withoutAsides, in later turns; an answer that goes on behind an answer is more than some providers take.
func (t *turn) silent() (domain.StopReason, error) {
	switch {
	case !t.agent.conversation.generates:
		return domain.StopEndTurn, nil
	case t.nudged:
		return "", domain.Errorf(domain.CodeGenerationFailed, "The model has handed in no blocks, also after it was told to.")
	default:
		t.nudged = true
		t.instruct(paragraphs(t.system, generatorNudgeText))
		return "", nil
	}
}

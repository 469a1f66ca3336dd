package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// What a model wants back of its answers, see [provider.State], is kept as long as it is whole, bounded and free of secrets. Where it
// is not, it is dropped whole: the next request goes out as after a fallback, and the log says so.

// stateOf returns what is kept of the state of a whole answer, and the event that tells of it where nothing is.
func (t *turn) stateOf(said *message, answer provider.Answer, calls []pendingCall) (json.RawMessage, []domain.Payload) {
	if answer.Finish != provider.FinishStop || len(calls) == 0 && !said.speaking { // no answer that anything goes on from
		return nil, nil
	}
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = call.ID
	}
	state := provider.StateOfAnswer(said.maker, answer, ids).Encode()
	var reason string
	switch {
	case len(state) > provider.MaxStateBytes:
		reason = domain.StateTooLarge
	case !bytes.Equal(t.agent.mask.JSON(state), state):
		reason = domain.StateHoldsSecret
	default:
		return state, nil
	}
	return nil, []domain.Payload{domain.ModelStateDropped{
		Turn: t.number, MessageID: said.id, Model: t.agent.models.asked().model.Name, Reason: reason,
	}}
}

// refuseState tells whether a request that the vendor calls wrong may do better without the state that was in it, and sees to it that it
// is not sent again. A signature may have lapsed, or a gateway may have got another model behind it.
func (t *turn) refuseState(ctx context.Context, err error) (again bool, _ error) {
	asked := t.agent.models.asked()
	var failed *provider.Error
	if !errors.As(err, &failed) || !failed.Refused() || !t.agent.conversation.refuse(asked.model.Maker()) {
		return false, nil
	}
	return true, t.host.Emit(ctx, domain.ModelStateDropped{Turn: t.number, Model: asked.model.Name, Reason: domain.StateRefused})
}

// digest names a state.
type digest [sha256.Size]byte

func digestOf(state json.RawMessage) digest { return sha256.Sum256(state) }

// refuse keeps the states of this maker from being sent again, and tells whether there are any.
func (c *conversation) refuse(maker provider.Maker) (some bool) {
	for _, message := range c.view() {
		if state := maker.StateOf(message); state.Maker == "" {
			continue
		}
		if c.refused == nil {
			c.refused = map[digest]bool{}
		}
		c.refused[digestOf(message.State)], some = true, true
	}
	return some
}

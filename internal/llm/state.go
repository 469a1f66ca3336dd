package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"

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

// withoutState makes another attempt without state if the vendor has called the request wrong, the request had state, and nothing says that something else
// is the reason. A signature may have lapsed, or a gateway may have got another model behind it. If the vendor refuses the second attempt as well, the
// state is not the reason: it goes with the next request again.
func (t *turn) withoutState(ctx context.Context, got provider.Answer, said *message, err error) (provider.Answer, *message, error) {
	var failed *provider.Error
	if !errors.As(err, &failed) || !failed.RefusedState() {
		return got, said, err
	}
	asked := t.agent.models.asked()
	refused := t.agent.conversation.refuse(asked.model.Maker())
	if len(refused) == 0 {
		return got, said, err
	}
	dropped := domain.ModelStateDropped{Turn: t.number, Model: asked.model.Name, Reason: domain.StateRefused}
	if err := t.host.Emit(ctx, dropped); err != nil {
		return provider.Answer{}, nil, err
	}
	if got, said, err = t.attempts(ctx); errors.As(err, &failed) && failed.Refused() {
		for _, state := range refused {
			delete(t.agent.conversation.refused, state)
		}
	}
	return got, said, err
}

// digest names a state.
type digest [sha256.Size]byte

func digestOf(state json.RawMessage) digest { return sha256.Sum256(state) }

// refuse keeps the states of this maker from being sent again, and returns those that would have been.
func (c *conversation) refuse(maker provider.Maker) (states []digest) {
	for _, message := range c.view() {
		if state := maker.StateOf(message); state.Maker == "" {
			continue
		}
		if c.refused == nil {
			c.refused = map[digest]bool{}
		}
		state := digestOf(message.State)
		c.refused[state], states = true, append(states, state)
	}
	return states
}

// withoutRefused returns the history without the states that their model has refused in an earlier process: it would refuse them again, which
// costs a request each time that the execution wakes.
func (l *lineup) withoutRefused(history []domain.Message) []domain.Message {
	kept := slices.Clone(history)
	for i, message := range kept {
		for _, c := range l.candidates {
			if slices.Contains(message.RefusedBy, c.model.Name) && c.model.Maker().StateOf(message).Maker != "" {
				kept[i].State = nil
			}
		}
	}
	return kept
}

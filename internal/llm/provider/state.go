package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"signoff/internal/domain"
)

// MaxStateBytes bounds the state of one answer, encoded. Half a state is refused by the model that made it, so a larger one is
// dropped whole.
const MaxStateBytes = 1 << 20

// Part is one piece of a vendor's state: encrypted reasoning, a signature, an item of an answer. Nobody but its provider reads it.
type Part struct {
	Kind string          `json:"kind"` // the provider's word for it
	JSON json.RawMessage `json:"json"` // one JSON value, as the vendor wrote it
}

// State is what a model wants back of one whole answer, beside its text and the arguments of its calls. It stands, encoded, in
// [domain.Message].State. It is never altered: a vendor signs it, and refuses a conversation in which one character was changed.
type State struct {
	Maker Maker       `json:"maker"`
	Parts []Part      `json:"parts,omitempty"` // of the message, in the order in which they came
	Calls []CallState `json:"calls,omitempty"`
}

// CallState is the state of one call.
type CallState struct {
	CallID  string `json:"callId"`            // ours, which everybody sees
	ModelID string `json:"modelId,omitempty"` // the one that the model gave it, for the wire; empty where it gave none, or one twice
	Made    string `json:"made,omitempty"`    // the arguments, letter by letter: the log writes them its own way, and a person may have edited them
	Parts   []Part `json:"parts,omitempty"`
}

// Maker names the model that a state belongs to: the entry of the configuration, its provider, its address and the vendor's name of
// the model. A key is no part of it, so a rotated key keeps the state. It is a digest, because the log must not show addresses.
type Maker string

// Maker returns the maker of the states of this model.
func (m Model) Maker() Maker {
	sum := sha256.Sum256(domain.Encode([]string{m.Name, m.Provider, m.BaseURL, m.Model}))
	return Maker(hex.EncodeToString(sum[:16]))
}

// StateOf returns the state of a message if this maker made it, else the empty state: another model cannot read it, and most refuse
// what they cannot read.
func (m Maker) StateOf(message domain.Message) State {
	var state State
	if len(message.State) == 0 || json.Unmarshal(message.State, &state) != nil || state.Maker != m {
		return State{}
	}
	return state
}

// Encode returns the state as a message carries it; nil where there is none.
func (s State) Encode() json.RawMessage {
	if len(s.Parts) == 0 && len(s.Calls) == 0 {
		return nil
	}
	return domain.Encode(s)
}

// Call returns the state of a call by our id; the empty one where there is none.
func (s State) Call(id string) CallState {
	at := slices.IndexFunc(s.Calls, func(c CallState) bool { return c.CallID == id })
	if at < 0 {
		return CallState{}
	}
	return s.Calls[at]
}

// Arguments returns the arguments that a call has for the model: those that it wrote if it made the call, whatever ran in their place,
// else these.
func (c CallState) Arguments(known json.RawMessage) json.RawMessage {
	if made := json.RawMessage(c.Made); c.Made != "" && json.Valid(made) {
		return ObjectArguments(made)
	}
	return ObjectArguments(known)
}

// Find returns the first part of a kind, or nil.
func Find(parts []Part, kind string) json.RawMessage {
	at := slices.IndexFunc(parts, func(p Part) bool { return p.Kind == kind })
	if at < 0 {
		return nil
	}
	return parts[at].JSON
}

// StateOfAnswer puts together what the model of maker wants back of a whole answer, whose calls have got these ids of ours, in their
// order.
func StateOfAnswer(maker Maker, answer Answer, callIDs []string) State {
	state := State{Maker: maker, Parts: answer.State}
	times := map[string]int{}
	for _, call := range answer.Calls {
		times[call.ID]++
	}
	for i, id := range callIDs {
		call := CallState{CallID: id, Made: answer.Calls[i].Arguments, Parts: answer.Calls[i].State}
		if times[answer.Calls[i].ID] == 1 {
			call.ModelID = answer.Calls[i].ID
		}
		state.Calls = append(state.Calls, call)
	}
	return state
}

// WireIDs returns the ids of all calls of a conversation as the model is to see them, by our ids: its own where it made the call,
// since some gateways keep state in them, and ours elsewhere, as fit makes the vendor take it. No two calls get the same one: there are models that begin to count
// anew in each answer.
func WireIDs(maker Maker, messages []domain.Message, fit func(id string) string) map[string]string {
	ids, taken := map[string]string{}, map[string]bool{}
	for _, message := range messages {
		if len(message.ToolCalls) == 0 {
			continue
		}
		state := maker.StateOf(message)
		for _, call := range message.ToolCalls {
			id := state.Call(call.ID).ModelID
			if id == "" || taken[id] {
				id = fit(call.ID)
			}
			ids[call.ID], taken[id] = id, true
		}
	}
	return ids
}

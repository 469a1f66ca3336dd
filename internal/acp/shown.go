package acp

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// What is kept and shown of a message has no secrets in it. What is done is what was shown: so a request to us that
// cannot be shown as it is, is not done.

// shown is the parameters of a message without secrets. They are valid JSON, whatever was hidden in them.
//
// Ids stay apart. Two calls whose ids look like keys would become one that is called "[masked]", and an option would
// go back to the agent that it has never offered; so such an id gets a stand-in, always the same for the same id.
func (a *agent) shown(params json.RawMessage) (json.RawMessage, error) {
	masked := a.config.Masked(params)
	if bytes.Equal(masked, params) {
		return params, nil
	}
	if !json.Valid(masked) {
		return nil, errors.New("acp: hiding a secret has broken a message")
	}
	shown, sent := wire.ReadObject(masked), wire.ReadObject(params)
	if shown == nil {
		return masked, nil
	}
	a.keepIDs(shown, sent)
	for _, member := range []string{"toolCall", "update"} {
		if inner := shown.Object(member); inner != nil {
			a.keepIDs(inner, sent.Object(member))
			shown[member] = domain.Encode(inner)
		}
	}
	if options := shown.List("options"); options != nil {
		a.keepOptions(options, sent.List("options"))
		shown["options"] = domain.Encode(options)
	}
	return domain.Encode(shown), nil
}

// keepIDs gives one object of a message the ids that it was sent with, or their stand-ins.
func (a *agent) keepIDs(shown, sent wire.Object) {
	for _, member := range []string{"sessionId", "toolCallId", "messageId", "optionId"} {
		if id := sent.Text(member); id != "" {
			shown[member] = domain.Encode(a.shownID(id))
		}
	}
}

func (a *agent) keepOptions(shown, sent []json.RawMessage) {
	if len(shown) != len(sent) { // what was hidden held a bracket; nobody knows what belongs to what
		return
	}
	for i := range shown {
		if option := wire.ReadObject(shown[i]); option != nil {
			a.keepIDs(option, wire.ReadObject(sent[i]))
			shown[i] = domain.Encode(option)
		}
	}
}

// shownID is an id of the agent's as it is kept and shown: as it is, but for one that would be masked.
func (a *agent) shownID(id string) string {
	if !a.holdsSecret([]byte(id)) {
		return id
	}
	sum := sha256.Sum256([]byte(a.salt + id))
	return fmt.Sprintf("masked-%x", sum[:6])
}

// sentOption is the id of an option as the agent has sent it.
func (a *agent) sentOption(request wire.Object, chosen string) string {
	for _, option := range request.Objects("options") {
		if id := option.Text("optionId"); id != "" && a.shownID(id) == chosen {
			return id
		}
	}
	return chosen
}

// holdsSecret tells whether something in a text must not be seen.
func (a *agent) holdsSecret(text []byte) bool { return !bytes.Equal(a.config.Masked(text), text) }

// refuseSecret refuses a request that holds a secret. Masked, it would be another one: a file would get "[masked]" for
// its key, and the agent would hear that all went well. As it is, a person would decide about what nobody has seen.
func (a *agent) refuseSecret(tool, summary string) *acp.RequestError {
	const why = "The request holds a secret that Signoff hides, so it cannot be shown to a person, and is not run."
	a.translator.passOn("refused", domain.Encode(map[string]string{
		"tool": tool, "summary": wire.Beginning(string(a.config.Masked([]byte(summary))), summaryBytes), "message": why,
	}))
	return invalid(why)
}

// withoutSecrets is an answer without the values of secrets that the agent was given.
func (a *agent) withoutSecrets(answer wire.Object) wire.Object {
	if sent := domain.Encode(answer); a.holdsSecret(sent) {
		return wire.ReadObject(a.config.Masked(sent))
	}
	return answer
}

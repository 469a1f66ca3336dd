package tools

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"signoff/internal/domain"
)

const awaitFields = `optionally "ids" (list of strings) and "mode" (all or any)`

//go:embed await_delegates.md
var awaitText string

// AwaitDelegates waits for children. It has no effect of its own, so nobody needs to be asked.
type AwaitDelegates struct{ delegationBase }

var _ DelegationTool = AwaitDelegates{}

// Definition implements [Tool].
func (AwaitDelegates) Definition() Definition {
	return Definition{
		Name:        domain.AwaitDelegatesTool,
		Version:     "1",
		Class:       domain.ClassNone,
		Description: awaitText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"ids": {"type": "array", "items": {"type": "string"}, "maxItems": 64,
					"description": "The agents to wait for. Default: all agents whose answer you have not got yet."},
				"mode": {"type": "string", "enum": ["all", "any"], "description": "Wait for all of them, or for the first. Default all."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (AwaitDelegates) Check(arguments json.RawMessage, _ string) (Intent, error) {
	wanted, err := readAwait(arguments)
	if err != nil {
		return Intent{}, err
	}
	whom := "all agents that it has asked"
	if len(wanted.IDs) > 0 {
		whom = strconv.Itoa(len(wanted.IDs)) + " of the agents that it has asked"
	}
	if wanted.Mode == domain.AwaitAny {
		return Intent{Summary: "Wait for the first of " + whom}, nil
	}
	return Intent{Summary: "Wait for " + whom}, nil
}

func readAwait(arguments json.RawMessage) (domain.AwaitDelegatesArguments, error) {
	members := readFields(arguments, awaitFields, "ids", "mode")
	var wanted domain.AwaitDelegatesArguments
	for i, id := range members.list("ids", domain.MaxTree, 100) {
		wanted.IDs = append(wanted.IDs, members.childOf(fmt.Sprintf("ids[%d]", i), id))
	}
	wanted.Mode = domain.AwaitMode(members.choice("mode", string(domain.AwaitAll), string(domain.AwaitAny)))
	return wanted, members.mistake
}

package tools

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

const (
	delegateFields = `"prompt" (string), one of "profile" (string) and "source" (object), and optionally "context" (none or items), ` +
		`"capabilities" (object), "tools" (list of strings), "environment" (string), "write" (boolean), "budget" (object), ` +
		`"outputSchema" (object) and "wait" (boolean)`
	sourceFields       = `"type" (internal or acp) and optionally "model" (string), "command" (string) and "mode" (string)`
	capabilityFields   = `the classes read, write, execute, network, mcp, delegate and host, each of them deny, ask or allow`
	budgetFields       = `"tokens" (whole number), "cost" (number), "toolCalls" (whole number) and "seconds" (whole number)`
	maxDelegateName    = 200
	maxDelegateTools   = 100
	maxBudget          = 1e12
	maxBudgetToolCalls = 1_000_000
	maxBudgetSeconds   = 365 * 24 * 60 * 60
)

//go:embed delegate.md
var delegateText string

// Delegate hands a piece of work to another agent: a child of the execution.
type Delegate struct {
	delegationBase

	options []domain.DelegateOption
}

var _ DelegationTool = (*Delegate)(nil)

// NewDelegate returns the tool of an execution that may delegate to these agents. Without any agent it lists none.
func NewDelegate(options ...domain.DelegateOption) *Delegate { return &Delegate{options: options} }

// Definition implements [Tool].
func (*Delegate) Definition() Definition {
	return Definition{
		Name:        domain.DelegateTool,
		Version:     "1",
		Class:       domain.ClassDelegate,
		Description: delegateText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"profile": {"type": "string", "description": "The agent profile to ask."},
				"source": {
					"type": "object", "description": "Instead of a profile: a model or an external agent.",
					"properties": {
						"type": {"type": "string", "enum": ["internal", "acp"]},
						"model": {"type": "string", "description": "Of internal: a model of the server. Default: the server's."},
						"command": {"type": "string", "description": "Of acp: the name of the agent."},
						"mode": {"type": "string", "description": "Of acp: a mode of the agent. Default: the agent's."}
					},
					"required": ["type"], "additionalProperties": false
				},
				"prompt": {"type": "string", "description": "The task, with all that the agent needs to know."},
				"context": {"type": "string", "enum": ["none", "items"],
					"description": "items: the agent reads this conversation, with its tool calls. Default none."},
				"capabilities": {
					"type": "object", "description": "The agent's capabilities, where they differ from its defaults.",
					"properties": {
						"read": {"type": "string", "enum": ["deny", "ask", "allow"]}, "write": {"type": "string", "enum": ["deny", "ask", "allow"]},
						"execute": {"type": "string", "enum": ["deny", "ask", "allow"]}, "network": {"type": "string", "enum": ["deny", "ask", "allow"]},
						"mcp": {"type": "string", "enum": ["deny", "ask", "allow"]}, "delegate": {"type": "string", "enum": ["deny", "ask", "allow"]},
						"host": {"type": "string", "enum": ["deny", "ask"]}
					},
					"additionalProperties": false
				},
				"tools": {"type": "array", "items": {"type": "string"}, "maxItems": 100,
					"description": "The names of its only tools. Default: all tools that it may have."},
				"environment": {"type": "string", "description": "The environment that it works in. Default: its own, or yours."},
				"write": {"type": "boolean", "description": "It may change files. Default false: it only reads."},
				"budget": {
					"type": "object", "description": "The upper bound of its usage; seconds are active time. Default: the bounds of your own budget.",
					"properties": {
						"tokens": {"type": "integer", "minimum": 1}, "cost": {"type": "number", "exclusiveMinimum": 0},
						"toolCalls": {"type": "integer", "minimum": 1}, "seconds": {"type": "integer", "minimum": 1}
					},
					"additionalProperties": false
				},
				"outputSchema": {"type": "object", "description": "A JSON Schema that its answer has to fit."},
				"wait": {"type": "boolean", "description": "Wait for its answer. Default true."}
			},
			"required": ["prompt"],
			"additionalProperties": false
		}`),
	}
}

// Agents lists the agents for the model; empty if none are known.
func (d *Delegate) Agents() string {
	if len(d.options) == 0 {
		return ""
	}
	lines := []string{"The agents that you can ask:", ""}
	for _, option := range d.options {
		line := fmt.Sprintf("- profile %q (%s)", option.Profile, sourceName(option.Source))
		if option.Profile == "" {
			line = "- source " + string(domain.Encode(option.Source))
		}
		if option.Description != "" {
			line += ": " + flat(option.Description)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Check implements [Tool].
func (d *Delegate) Check(arguments json.RawMessage, _ string) (Intent, error) {
	wanted, err := readDelegate(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{Summary: d.summary(wanted)}, nil
}

func readDelegate(arguments json.RawMessage) (domain.DelegateArguments, error) {
	members := readFields(arguments, delegateFields, "profile", "source", "prompt", "context", "capabilities", "tools", "environment", "write", "budget",
		"outputSchema", "wait")
	wanted := domain.DelegateArguments{
		Profile: members.optionalText("profile", maxDelegateName), Source: members.source(), Prompt: members.text("prompt", maxDelegatePrompt),
		Context:      domain.DelegateContext(members.choice("context", string(domain.ContextNone), string(domain.ContextItems))),
		Capabilities: members.capabilities(), Tools: members.list("tools", maxDelegateTools, maxDelegateName),
		Environment: members.optionalText("environment", maxDelegateName), Write: members.flag("write"), Budget: members.budget(),
		OutputSchema: members.outputSchema(), Wait: members.wait(),
	}
	switch {
	case wanted.Profile == "" && wanted.Source == nil:
		members.wrong(`One of the fields "profile" and "source" is needed: it says which agent is asked.`)
	case wanted.Profile != "" && wanted.Source != nil:
		members.wrong(`The fields "profile" and "source" exclude each other: a profile has a source of its own.`)
	case wanted.Write && wanted.Capabilities[domain.ClassWrite] == domain.Deny:
		members.wrong(`The field "write" is true, and "capabilities" denies it.`)
	}
	return wanted, members.mistake
}

func (f *fields) source() (source *domain.Source) {
	f.object("source", sourceFields, []string{"type", "model", "command", "mode"}, func(inner *fields) {
		kind := inner.text("type", maxDelegateName)
		if kind != string(domain.SourceInternal) && kind != string(domain.SourceACP) {
			inner.wrong(`The field "type" must be one of: internal, acp.`)
		}
		source = &domain.Source{
			Type: domain.SourceType(kind), Model: inner.optionalText("model", maxDelegateName), Command: inner.optionalText("command", maxDelegateName),
			Mode: inner.optionalText("mode", maxDelegateName),
		}
	})
	return source
}

func (f *fields) capabilities() (verdicts map[domain.Class]domain.Verdict) {
	var classes []string
	for _, class := range domain.Classes {
		classes = append(classes, string(class))
	}
	f.object("capabilities", capabilityFields, classes, func(inner *fields) {
		verdicts = map[domain.Class]domain.Verdict{}
		for _, class := range domain.Classes {
			words := []string{string(domain.Deny), string(domain.Ask), string(domain.Allow)}
			if class == domain.ClassHost { // no verdict allows commands without isolation
				words = words[:2]
			}
			if _, given := inner.given(string(class)); given {
				verdicts[class] = domain.Verdict(inner.choice(string(class), words...))
			}
		}
	})
	return verdicts
}

func (f *fields) budget() (budget *domain.Budget) {
	f.object("budget", budgetFields, []string{"tokens", "cost", "toolCalls", "seconds"}, func(inner *fields) {
		budget = &domain.Budget{
			Tokens: int64(inner.number("tokens", 0, 1, maxBudget)), Cost: inner.amount("cost", maxBudget),
			ToolCalls: inner.number("toolCalls", 0, 1, maxBudgetToolCalls), Seconds: inner.number("seconds", 0, 1, maxBudgetSeconds),
		}
	})
	return budget
}

// amount reads a number above 0; it is 0 where the field is absent or null.
func (f *fields) amount(name string, most float64) (value float64) {
	raw, given := f.given(name)
	if !given {
		return 0
	}
	if err := json.Unmarshal(raw, &value); err != nil || value <= 0 || value > most {
		f.wrong("The field %q must be a number above 0, and at most %g.", name, most)
	}
	return value
}

func (f *fields) outputSchema() json.RawMessage {
	raw, given := f.given("outputSchema")
	if !given {
		return nil
	}
	if !bytes.HasPrefix(raw, []byte("{")) {
		f.wrong(`The field "outputSchema" must be a JSON Schema, which is an object.`)
		return nil
	}
	if _, err := schema.Compile(raw); err != nil {
		f.wrong(`The field "outputSchema": %s`, domain.FailureOf(err).Message)
	}
	return raw
}

// summary describes the call for the person who decides about it: the agent, the prompt, and the agent's powers.
func (d *Delegate) summary(wanted domain.DelegateArguments) string {
	asked, knows := d.option(wanted)
	who := code(wanted.Profile)
	switch {
	case wanted.Source != nil:
		who = sourceName(*wanted.Source)
	case knows:
		who += " (" + sourceName(asked.Source) + ")"
	}
	parts := []string{"Ask " + who + " to do " + code(wanted.Prompt)}
	if wanted.Context == domain.ContextItems {
		parts = append(parts, "it reads this conversation")
	}
	if may := d.powers(wanted); knows || len(may) > 0 {
		parts = append(parts, "it may: "+orNothing(may))
	}
	if wanted.Tools != nil {
		parts = append(parts, "its tools: "+code(orNothing(wanted.Tools)))
	}
	if wanted.Environment != "" {
		parts = append(parts, "in the environment "+code(wanted.Environment))
	}
	if bounds := bounds(wanted.Budget); bounds != "" {
		parts = append(parts, "budget: "+bounds)
	}
	if wanted.Background() {
		parts = append(parts, "nothing waits for it")
	}
	return strings.Join(parts, "; ")
}

// option is the agent that the call names.
func (d *Delegate) option(wanted domain.DelegateArguments) (option domain.DelegateOption, known bool) {
	at := slices.IndexFunc(d.options, func(o domain.DelegateOption) bool {
		if wanted.Source == nil {
			return o.Profile != "" && o.Profile == wanted.Profile
		}
		return o.Profile == "" && o.Source.Type == wanted.Source.Type && o.Source.Command == wanted.Source.Command
	})
	if at < 0 {
		return option, false
	}
	return d.options[at], true
}

// powers are the classes that the child may use, as far as they are known.
func (d *Delegate) powers(wanted domain.DelegateArguments) (may []string) {
	for _, class := range domain.Classes {
		switch d.verdict(wanted, class) {
		case domain.Allow:
			may = append(may, string(class))
		case domain.Ask:
			may = append(may, string(class)+" (asks)")
		}
	}
	return may
}

func (d *Delegate) verdict(wanted domain.DelegateArguments, class domain.Class) domain.Verdict {
	asked, knows := d.option(wanted)
	named, isNamed := wanted.Capabilities[class]
	switch {
	case class == domain.ClassWrite && !wanted.Writes():
		return domain.Deny
	case isNamed:
		return named
	case knows:
		return asked.Capabilities.Of(class)
	case class == domain.ClassWrite:
		return domain.Allow
	default:
		return ""
	}
}

func bounds(budget *domain.Budget) string {
	if budget == nil {
		return ""
	}
	var parts []string
	if budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", budget.Tokens))
	}
	if budget.Cost > 0 {
		parts = append(parts, fmt.Sprintf("a cost of %g", budget.Cost))
	}
	if budget.ToolCalls > 0 {
		parts = append(parts, fmt.Sprintf("%d tool calls", budget.ToolCalls))
	}
	if budget.Seconds > 0 {
		parts = append(parts, fmt.Sprintf("%d seconds", budget.Seconds))
	}
	return strings.Join(parts, ", ")
}

// sourceName names a source, for people.
func sourceName(source domain.Source) string {
	switch {
	case source.Type == domain.SourceACP && source.Model != "":
		return "agent " + code(source.Command) + ", model " + code(source.Model)
	case source.Type == domain.SourceACP:
		return "agent " + code(source.Command)
	case source.Model == "":
		return "the server's model"
	default:
		return "model " + code(source.Model)
	}
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

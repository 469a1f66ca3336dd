package llm

import "signoff/internal/domain"

// turn is the state of one Prompt.
type turn struct {
	agent   *agent
	host    domain.Host
	runner  runner
	number  int
	system  string // the text before the conversation
	rounds  int    // answers with tool calls, those before a restart included
	attempt int    // at the answer that is asked for, over all models

	retrying *domain.Retrying // the request that an earlier process has made, until it is repeated

	edits  bool // blocks were handed in before this turn
	nudged bool // the model was asked once more to hand in blocks

	unsummarized bool // the model has failed at a summary
}

// begin begins a turn, or goes on with one that was cut off.
func (a *agent) begin(host domain.Host, prompt domain.Prompt) *turn {
	t := &turn{agent: a, host: host, number: prompt.Turn, rounds: prompt.Rounds, edits: prompt.Edits > 0 || prompt.Turn > 1}
	t.runner = runner{host: host, tools: a.tools, mask: a.mask, logger: a.logger, execution: &a.execution}
	if prompt.Retrying != nil && a.models.recover(prompt.Retrying) {
		t.retrying = prompt.Retrying
	}
	a.account.begin(prompt)
	prompt.History = a.models.withoutRefused(prompt.History)
	a.conversation.begin(prompt)
	return t
}

// instruct sets the text before the conversation.
func (t *turn) instruct(system string) {
	t.system = system
	t.weigh()
}

// grant gives the turn other tools.
func (t *turn) grant(granted *toolset) {
	t.agent.tools, t.runner.tools = granted, granted
	t.weigh()
}

// weigh guesses the tokens of everything before the conversation.
func (t *turn) weigh() {
	fixed := tokens(len(t.system))
	for _, tool := range t.agent.tools.definitions {
		fixed += tokens(len(tool.Name) + len(tool.Description) + len(tool.Schema))
	}
	t.agent.conversation.fixed = fixed
}

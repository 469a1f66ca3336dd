package http

import (
	"encoding/json"
	"math"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// This file is the only place where the contract's shapes and the domain's meet: first what comes in, then what goes
// out.

// ——— in ———

func toSource(body api.Source) domain.Source {
	return domain.Source{
		Type: domain.SourceType(body.Type), Model: value(body.Model, ""),
		Command: value(body.Command, ""), Mode: value(body.Mode, ""), Options: value(body.Options, nil),
		Fallbacks: value(body.Fallbacks, nil),
	}
}

func toAnswer(body api.Decide, by domain.Actor) (approvals.Answer, error) {
	answer := approvals.Answer{
		Verb:          domain.Verb(value(body.Decision, "")),
		ArgumentsHash: value(body.ArgumentsHash, ""),
		Reason:        value(body.Reason, ""),
		Arguments:     value(body.Arguments, nil),
		OptionID:      value(body.OptionId, ""),
		Answer:        value(body.Answer, nil),
		Resolution:    domain.Resolution(value(body.Resolution, "")),
		By:            by,
	}
	return answer, toRemember(body.Remember, &answer)
}

// globalRuleSeconds is how long a rule for all executions holds where its maker does not say: what was remembered at
// three in the morning is not to hold for ever.
const globalRuleSeconds = 30 * 24 * 3600

// toRemember reads a bare scope, or a choice of one of the approval's options.
func toRemember(body *api.Decide_Remember, answer *approvals.Answer) error {
	if body == nil {
		return nil
	}
	if scope, err := body.AsRemember(); err == nil {
		answer.Remember = domain.RememberScope(scope)
	} else {
		choice, err := body.AsRememberChoice()
		if err != nil {
			return domain.Invalid("/remember", "It is a scope, or an object with a scope.").With(err)
		}
		answer.Remember, answer.PreviewID = domain.RememberScope(choice.Scope), value(choice.PreviewId, "")
		if answer.Remember == domain.RememberOnce && choice.ExpiresInSeconds != nil {
			return domain.Invalid("/remember/expiresInSeconds", "What is decided once leaves no rule behind that could expire.")
		}
		if seconds := value(choice.ExpiresInSeconds, 0); seconds > 0 {
			answer.RememberUntil = new(time.Now().UTC().Add(time.Duration(seconds) * time.Second))
		}
	}
	if answer.Remember == domain.RememberGlobal && answer.RememberUntil == nil {
		answer.RememberUntil = new(time.Now().UTC().Add(globalRuleSeconds * time.Second))
	}
	return nil
}

func toMatcher(body api.Matcher) domain.Matcher {
	return domain.Matcher{
		ArgumentsHash: value(body.ArgumentsHash, ""), Tool: value(body.Tool, ""), Agent: value(body.Agent, ""), Class: domain.Class(value(body.Class, "")),
		Path: value(body.Path, ""), Command: value(body.Command, ""), Host: value(body.Host, ""), Server: value(body.McpServer, ""),
	}
}

// ——— out ———

func causeOrNull(cause domain.InterruptCause) *api.InterruptCause {
	if cause == "" {
		return nil
	}
	shown := api.InterruptCause(cause)
	return &shown
}

func toExecution(e domain.Execution, waits waiting) api.Execution {
	r := e.Request
	out := api.Execution{
		Id:                     string(e.ID),
		Status:                 api.ExecutionStatus(e.Status),
		Cause:                  causeOrNull(e.Cause),
		Source:                 fromSource(r.Source),
		Prompt:                 textOrNull(r.Prompt),
		SystemPrompt:           textOrNull(r.SystemPrompt),
		Instructions:           textOrNull(r.Instructions),
		MaxIterations:          r.MaxIterations,
		TimeoutSeconds:         r.TimeoutSeconds,
		ApprovalTimeoutSeconds: r.ApprovalTimeoutSeconds,
		KeepOpen:               r.KeepOpen,
		IdleTimeoutSeconds:     r.IdleTimeoutSeconds,
		RetentionDays:          r.RetentionDays,
		McpServers:             append([]string{}, r.MCPServers...),
		ResumeFrom:             textOrNull(string(r.ResumeFrom)),
		Debug:                  r.Debug,
		AgentSession:           textOrNull(e.AgentSession),
		WorkingDirectory:       r.WorkingDirectory,
		Metadata:               api.Metadata{},
		Turn:                   e.Turn,
		Progress:               api.Progress{Rounds: e.Rounds, MaxIterations: r.MaxIterations},
		Usage:                  toUsage(e.Usage),
		Output:                 toOutput(e.Output),
		PendingApprovals:       []api.ApprovalSummary{},
		PendingToolCalls:       []api.ClientCallSummary{},
		Generation:             generationSummary(waits.generation),
		LastSeq:                e.LastSeq,
		CreatedAt:              api.Time(e.Created),
		UpdatedAt:              api.Time(e.Updated),
		EndedAt:                timeOrNull(e.Ended),
		CreatedBy:              e.ByKey,
	}
	showSettings(&out, r)
	if len(r.Messages) > 0 {
		messages := make([]api.InputMessage, len(r.Messages))
		for i, m := range r.Messages {
			messages[i] = api.InputMessage{Role: api.InputMessageRole(m.Role), Content: m.Content}
		}
		out.Messages = &messages
	}
	for name, label := range r.Metadata {
		out.Metadata[name] = label
	}
	showRunbook(&out, r)
	for _, a := range waits.approvals {
		if a.Status == domain.ApprovalPending {
			out.PendingApprovals = append(out.PendingApprovals, toSummary(a))
		}
	}
	for _, call := range waits.calls {
		out.PendingToolCalls = append(out.PendingToolCalls, toCallSummary(call))
	}
	return out
}

func fromSource(s domain.Source) api.Source {
	return api.Source{
		Type: api.SourceType(s.Type), Model: textOrNull(s.Model), Command: textOrNull(s.Command), Mode: textOrNull(s.Mode),
		Options: optionsOrNull(s.Options), Fallbacks: listOrNull(s.Fallbacks),
	}
}

func optionsOrNull(options map[string]string) *api.ChosenOptions {
	if len(options) == 0 {
		return nil
	}
	return (*api.ChosenOptions)(&options)
}

func listOrNull[T any](list []T) *[]T {
	if len(list) == 0 {
		return nil
	}
	return &list
}

func toPrompt(p domain.QueuedPrompt) api.Prompt {
	out := api.Prompt{
		Id: string(p.ID), ExecutionId: string(p.Execution), Prompt: p.Text, WhenBusy: api.WhenBusy(p.WhenBusy),
		CreatedAt: api.Time(p.Created), CreatedBy: p.By.KeyID,
	}
	if p.Edit != nil {
		out.Edits = &p.Edit.Generation
	}
	out.Options = optionsOrNull(p.Options)
	return out
}

func toDebugMessages(messages []domain.DebugMessage) []api.DebugMessage {
	items := make([]api.DebugMessage, len(messages))
	for i, m := range messages {
		items[i] = api.DebugMessage{
			N: m.N, Time: api.Time(m.Time), Direction: api.DebugMessageDirection(m.Direction), Message: m.Message, Bytes: m.Bytes,
		}
	}
	return items
}

func toUsage(u domain.Usage) api.Usage {
	return api.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens,
		CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens, TotalTokens: u.TotalTokens,
		ContextUsed: u.ContextUsed, ContextSize: u.ContextSize, Cost: u.Cost,
	}
}

func toOutput(o *domain.Output) *api.Output {
	if o == nil {
		return nil
	}
	out := &api.Output{
		Text: o.Text, Truncated: o.Truncated, Structured: jsonOrNull(o.Structured), Success: o.Success,
		FinishReason: api.FinishReason(o.FinishReason), DurationSeconds: milliseconds(o.DurationSeconds), TokenUsage: toUsage(o.TokenUsage),
		ToolCallsExecuted: []api.ExecutedToolCall{},
	}
	for _, call := range o.ToolCallsExecuted {
		out.ToolCallsExecuted = append(out.ToolCallsExecuted, api.ExecutedToolCall{
			ToolCallId: call.ToolCallID, Name: call.Name, Approved: call.Approved, Fate: api.Fate(call.Fate), ResultSummary: call.ResultSummary,
		})
	}
	if o.Error != nil {
		out.Error = &api.Failure{Code: string(o.Error.Code), Message: o.Error.Message}
	}
	return out
}

// milliseconds rounds what was measured to what anybody reads: 9.556, and not 9.556000000000001.
func milliseconds(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

func toSummary(a domain.Approval) api.ApprovalSummary {
	return api.ApprovalSummary{
		Id: string(a.ID), Kind: api.ApprovalKind(a.Kind), Tool: a.Call.Tool, ToolCallId: a.Call.ID,
		Summary: a.Call.Summary, RequestedAt: api.Time(a.Requested), ExpiresAt: timeOrNull(a.Expires),
	}
}

func toApproval(a domain.Approval) api.Approval {
	return api.Approval{
		Id: string(a.ID), ExecutionId: string(a.Execution), Kind: api.ApprovalKind(a.Kind),
		Status: api.ApprovalStatus(a.Status), Tool: a.Call.Tool, ToolCallId: a.Call.ID, Arguments: a.Call.Arguments,
		ArgumentsHash: a.ArgumentsHash, Summary: a.Call.Summary, WorkingDirectory: a.WorkingDirectory,
		Options: jsonOrNull(a.Options), OptionsNote: optionsNote(a.Options), Question: jsonOrNull(a.Question),
		Isolation: toIsolation(a), AskedBy: textOrNull(a.AskedBy), Reason: textOrNull(a.Reason), RememberOptions: toRememberOptions(a.RememberOptions),
		RequestedAt: api.Time(a.Requested), ExpiresAt: timeOrNull(a.Expires), ResolvedAt: timeOrNull(a.Resolved),
		Decision: toDecision(a.Decision),
	}
}

// toIsolation tells what confines a call. Nothing has ever confined those of an external agent; older rows do not say it.
func toIsolation(a domain.Approval) *api.Isolation {
	switch {
	case a.Isolation != nil:
		return &api.Isolation{Name: a.Isolation.Name}
	case a.Kind == domain.ApprovalAgentPermission:
		return &api.Isolation{Name: domain.IsolationNone}
	default:
		return nil
	}
}

// optionsNote tells whose memory an option speaks of: who reads "always" beside a button of Signoff thinks of Signoff's,
// and would look there for the rule to take it back.
func optionsNote(options json.RawMessage) *string {
	for _, option := range approvals.Options(options) {
		if option.Kind == domain.OptionAllowAlways || option.Kind == domain.OptionRejectAlways {
			return new("An option of kind allow_always or reject_always is remembered by the agent, not by Signoff.")
		}
	}
	return nil
}

func toDecision(d *domain.Decision) *api.Decision {
	if d == nil {
		return nil
	}
	return &api.Decision{
		Decision: api.Verb(d.Verb), Reason: textOrNull(d.Reason),
		Arguments: jsonOrNull(d.Arguments), ArgumentsHash: textOrNull(d.ArgumentsHash),
		Remember: api.Remember(d.Remember), PreviewId: textOrNull(d.PreviewID), RuleId: textOrNull(d.RuleID), OptionId: textOrNull(d.OptionID), Answer: jsonOrNull(d.Answer),
		Resolution: (*api.Resolution)(textOrNull(string(d.Resolution))),
		DecidedBy:  api.Actor{KeyId: d.By.KeyID, Name: d.By.Name},
	}
}

func toAgent(a AgentInfo) api.Agent {
	return api.Agent{
		Name: a.Name, Type: api.SourceTypeAcp, Description: a.Description, Available: a.Available,
		Reason: textOrNull(a.Reason), Version: textOrNull(a.Version), Mode: textOrNull(a.Mode),
	}
}

func toModel(m ModelInfo) api.Model {
	out := api.Model{
		Name: m.Name, Provider: m.Provider, Model: m.Model, Default: m.Default,
		Available: m.Available, Reason: textOrNull(m.Reason),
	}
	if m.ContextWindow > 0 {
		out.ContextWindow = &m.ContextWindow
	}
	return out
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func jsonOrNull(text json.RawMessage) *json.RawMessage {
	if text == nil {
		return nil
	}
	return &text
}

func timeOrNull(t *time.Time) *api.Time { return (*api.Time)(t) }

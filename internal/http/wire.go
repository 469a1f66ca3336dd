package http

import (
	"cmp"
	"encoding/json"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// This file converts between types of the contract and of the domain that differ: first requests, then responses. Types that are equal are
// one type; api/codegen.overlay.yaml lists them.

func toAnswer(body api.Decide, by domain.Actor) (approvals.Answer, error) {
	answer := approvals.Answer{
		Verb:          api.Or(body.Decision, ""),
		ArgumentsHash: api.Or(body.ArgumentsHash, ""),
		Reason:        api.Or(body.Reason, ""),
		Arguments:     api.Or(body.Arguments, nil),
		OptionID:      api.Or(body.OptionId, ""),
		Answer:        api.Or(body.Answer, nil),
		Resolution:    api.Or(body.Resolution, ""),
		StopTree:      domain.ExecutionID(api.Or(body.StopTree, "")),
		By:            by,
	}
	return answer, toRemember(body.Remember, &answer)
}

// globalRuleSeconds is the default lifetime of a remembered rule for all executions: a decision at three in the morning should not hold
// for ever.
const globalRuleSeconds = 30 * 24 * 3600

// toRemember reads the rule that a decision should leave behind; a nil choice is none.
func toRemember(choice *api.RememberChoice, answer *approvals.Answer) error {
	if choice == nil {
		return nil
	}
	answer.Remember, answer.PreviewID = choice.Scope, choice.PreviewID
	if answer.Remember == domain.RememberOnce && choice.ExpiresInSeconds != nil {
		return domain.Invalid("/remember/expiresInSeconds", "A decision for once leaves no rule behind that could expire.")
	}
	seconds := api.Or(choice.ExpiresInSeconds, 0)
	if seconds == 0 && answer.Remember == domain.RememberGlobal {
		seconds = globalRuleSeconds
	}
	if seconds > 0 {
		answer.RememberUntil = new(time.Now().UTC().Add(time.Duration(seconds) * time.Second))
	}
	return nil
}

func toExecution(e domain.Execution, open openQuestions) api.Execution {
	r := e.Request
	out := api.Execution{
		Id:                     string(e.ID),
		Status:                 e.Status,
		Cause:                  textOrNull(e.Cause),
		Source:                 r.Source,
		Profile:                toUsedProfile(r.Profile),
		Model:                  r.Model,
		Prompt:                 textOrNull(r.Prompt),
		Parts:                  r.Parts,
		SystemPrompt:           textOrNull(r.SystemPrompt),
		Instructions:           textOrNull(r.Instructions),
		MaxIterations:          r.MaxIterations,
		TimeoutSeconds:         r.TimeoutSeconds,
		ApprovalTimeoutSeconds: r.ApprovalTimeoutSeconds,
		KeepOpen:               r.KeepOpen,
		IdleTimeoutSeconds:     r.IdleTimeoutSeconds,
		RetentionDays:          r.RetentionDays,
		Messages:               listOrNull(r.Messages),
		McpServers:             append([]string{}, r.MCPServers...),
		ResumeFrom:             textOrNull(string(r.ResumeFrom)),
		Debug:                  r.Debug,
		Checkpoints:            cmp.Or(r.Checkpoints, domain.CheckpointsOff),
		AgentSession:           textOrNull(e.AgentSession),
		WorkingDirectory:       r.WorkingDirectory,
		Workspace:              toWorkspace(e),
		Environment:            environmentOf(r),
		Metadata:               r.Metadata,
		Turn:                   e.Turn,
		Progress:               api.Progress{Rounds: e.Rounds, MaxIterations: r.MaxIterations},
		Usage:                  e.Usage,
		Output:                 toOutput(e.Output),
		PendingApprovals:       []api.ApprovalSummary{},
		PendingToolCalls:       mapped(open.calls, toCallSummary),
		LastSeq:                e.LastSeq,
		CreatedAt:              api.Time(e.Created),
		UpdatedAt:              api.Time(e.Updated),
		EndedAt:                timeOrNull(e.Ended),
		CreatedBy:              e.ByKey,
		Delegation:             r.Delegation,
		Parent:                 toParent(e),
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	if g := open.generation; g != nil {
		out.Generation = &api.GenerationSummary{Number: g.Number, State: g.State}
	}
	addPermissions(&out, r)
	addRunbook(&out, r)
	for _, a := range open.approvals {
		if a.Status == domain.ApprovalPending {
			out.PendingApprovals = append(out.PendingApprovals, toSummary(a))
		}
	}
	return out
}

func toWorkspace(e domain.Execution) api.ExecutionWorkspace {
	own := e.Request.OwnFolder
	if own == nil {
		return api.ExecutionWorkspace{Mode: domain.WorkspaceShared, Keep: true}
	}
	out := api.ExecutionWorkspace{Mode: own.Mode, Keep: own.Keep, From: textOrNull(own.From)}
	if own.Repository != nil {
		out.Branch, out.Commit = new(e.ID.Branch()), &own.Repository.Commit
	}
	return out
}

// toParent is nil for an execution that nobody has delegated.
func toParent(e domain.Execution) *api.ExecutionParent {
	parent := e.Request.Parent
	if parent == nil {
		return nil
	}
	return &api.ExecutionParent{
		ExecutionId: string(parent.Execution), ToolCallId: parent.ToolCallID, Root: string(parent.Root), Depth: parent.Depth, Name: parent.Name, Path: e.Path(),
	}
}

// environmentOf is nil for an execution that an older server has created.
func environmentOf(r domain.Request) *domain.EnvironmentChoice {
	if r.Environment.Name == "" {
		return nil
	}
	return &r.Environment
}

func listOrNull[T any](list []T) *[]T {
	if len(list) == 0 {
		return nil
	}
	return &list
}

func toPrompt(p domain.QueuedPrompt) api.Prompt {
	out := api.Prompt{
		Id: string(p.ID), ExecutionId: string(p.Execution), Prompt: p.Text, Parts: p.Parts, WhenBusy: p.WhenBusy,
		Options: p.Options, CreatedAt: api.Time(p.Created), CreatedBy: p.By.KeyID,
	}
	if p.Edit != nil {
		out.Edits = &p.Edit.Generation
	}
	return out
}

func toOutput(o *domain.Output) *api.Output {
	if o == nil {
		return nil
	}
	return &api.Output{
		Text: o.Text, Truncated: o.Truncated, Structured: jsonOrNull(o.Structured), Success: o.Success,
		FinishReason: o.FinishReason, DurationSeconds: domain.RoundSeconds(o.DurationSeconds), TokenUsage: o.TokenUsage,
		ToolCallsExecuted: listed(o.ToolCallsExecuted), Error: o.Error,
	}
}

func toSummary(a domain.Approval) api.ApprovalSummary {
	return api.ApprovalSummary{
		Id: string(a.ID), Kind: a.Kind, Tool: a.Call.Tool, ToolCallId: a.Call.ID,
		Summary: a.Call.Summary, RequestedAt: api.Time(a.Requested), ExpiresAt: timeOrNull(a.Expires),
	}
}

func toApproval(a domain.Approval) api.Approval {
	return api.Approval{
		Id: string(a.ID), ExecutionId: string(a.Execution), RunbookId: textOrNull(a.RunbookID), BlockId: textOrNull(a.BlockID), Kind: a.Kind,
		Status: a.Status, Tool: a.Call.Tool, ToolDescription: textOrNull(a.Call.Description), ToolCallId: a.Call.ID, Arguments: a.Call.Arguments,
		ArgumentsHash: a.ArgumentsHash, Summary: a.Call.Summary, WorkingDirectory: a.WorkingDirectory,
		Options: jsonOrNull(a.Options), OptionsNote: optionsNote(a.Options), Question: jsonOrNull(a.Question),
		Isolation: toIsolation(a), Environment: a.Environment, Mcp: a.MCP, Reversible: textOrNull(a.Reversible), ReversibleReason: textOrNull(a.ReversibleReason), AskedBy: textOrNull(a.AskedBy), Reason: textOrNull(a.Reason), RememberOptions: listed(a.RememberOptions),
		RequestedAt: api.Time(a.Requested), ExpiresAt: timeOrNull(a.Expires), ResolvedAt: timeOrNull(a.Resolved),
		Decision: toDecision(a.Decision), Root: textOrNull(string(a.Root)), Path: toPath(a.Path),
	}
}

func toPath(path []domain.PathStep) *api.DelegationPath {
	if path == nil {
		return nil
	}
	return &path
}

// toIsolation returns the isolation of a call. Calls of an external agent never had one, although older rows do not say so.
func toIsolation(a domain.Approval) *domain.Isolation {
	if a.Isolation == nil && a.Kind == domain.ApprovalAgentPermission {
		return &domain.Isolation{Name: domain.IsolationNone}
	}
	return a.Isolation
}

// optionsNote explains whose memory an option refers to. A person who reads "always" in Signoff would look for a rule of Signoff to revoke.
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
		Decision: d.Verb, Reason: textOrNull(d.Reason),
		Arguments: jsonOrNull(d.Arguments), ArgumentsHash: textOrNull(d.ArgumentsHash),
		Remember: d.Remember, PreviewId: textOrNull(d.PreviewID), RuleId: textOrNull(d.RuleID), OptionId: textOrNull(d.OptionID), Answer: jsonOrNull(d.Answer),
		Resolution: textOrNull(d.Resolution),
		DecidedBy:  d.By,
	}
}

func textOrNull[Text ~string](text Text) *Text {
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

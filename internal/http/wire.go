package http

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// This file is the only place where the contract's shapes and the domain's meet: first what comes in, then what goes
// out.

// ——— in ———

const (
	defaultMaxIterations   = 50
	defaultTimeout         = 300
	defaultApprovalTimeout = 3600
)

var metadataName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

// toRequest fills the defaults in and checks what the document cannot say. All that is wrong is reported at once.
func (s *Server) toRequest(body api.CreateExecution) (domain.Request, error) {
	request := domain.Request{
		Source:                 domain.Source{Type: domain.SourceType(body.Source.Type), Model: value(body.Source.Model, s.models.Default())},
		Prompt:                 value(body.Prompt, ""),
		SystemPrompt:           value(body.SystemPrompt, ""),
		Instructions:           value(body.Instructions, ""),
		Capabilities:           toCapabilities(body.Capabilities),
		MaxIterations:          value(body.MaxIterations, defaultMaxIterations),
		TimeoutSeconds:         value(body.TimeoutSeconds, defaultTimeout),
		ApprovalTimeoutSeconds: value(body.ApprovalTimeoutSeconds, defaultApprovalTimeout),
		Metadata:               value(body.Metadata, nil),
	}
	for _, message := range value(body.Messages, nil) {
		request.Messages = append(request.Messages, domain.InputMessage{Role: domain.Role(message.Role), Content: message.Content})
	}
	if details := wrongParts(body); len(details) > 0 {
		return request, &domain.Error{Code: domain.CodeInvalid, Message: summary(details), Details: details}
	}
	if !s.models.Has(request.Source.Model) {
		return request, s.unknownModel()
	}
	directory, err := s.workspace.Resolve(value(body.WorkingDirectory, ""))
	request.WorkingDirectory = directory
	return request, err
}

func toCapabilities(body *api.Capabilities) domain.Capabilities {
	granted := domain.DefaultCapabilities
	if body != nil {
		granted.Read = domain.Verdict(value(body.Read, api.CapabilitiesRead(granted.Read)))
		granted.Execute = domain.Verdict(value(body.Execute, api.CapabilitiesExecute(granted.Execute)))
	}
	return granted
}

func wrongParts(body api.CreateExecution) (details []domain.Detail) {
	complain := func(pointer, message string) {
		details = append(details, domain.Detail{Pointer: pointer, Message: message})
	}
	switch {
	case body.Prompt == nil && body.Messages == nil:
		complain("/prompt", "is required, or messages in its place")
	case body.Prompt != nil && body.Messages != nil:
		complain("/messages", "must not come together with prompt")
	}
	if messages := value(body.Messages, nil); len(messages) > 0 {
		if last := len(messages) - 1; messages[last].Role != api.InputMessageRoleUser {
			complain(fmt.Sprintf("/messages/%d/role", last), "must be user: the last message is what the agent answers")
		}
	}
	for name := range value(body.Metadata, nil) {
		if !metadataName.MatchString(name) {
			complain(pointer([]string{"metadata", name}), "must have a name of 1 to 64 characters of A-Z a-z 0-9 _ . : / -")
		}
	}
	return details
}

func summary(details []domain.Detail) string {
	if len(details) > 1 {
		return "Some of the input is not allowed; see errors."
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(details[0].Pointer, "/"), "/")
	return name + " " + details[0].Message + "."
}

func (s *Server) unknownModel() error {
	message := "The server has no model configured."
	if names := s.models.Names(); len(names) > 0 {
		message = "There is no such model; there are " + strings.Join(names, ", ") + "."
	}
	return &domain.Error{
		Code: domain.CodeUnknownModel, Message: message,
		Details: []domain.Detail{{Pointer: "/source/model", Message: message}},
	}
}

func toAnswer(body api.Decide, by domain.Actor, unseen bool) approvals.Answer {
	return approvals.Answer{
		Verb:          domain.Verb(body.Decision),
		ArgumentsHash: value(body.ArgumentsHash, ""),
		Reason:        value(body.Reason, ""),
		Arguments:     value(body.Arguments, nil),
		Remember:      domain.RememberScope(value(body.Remember, api.RememberOnce)),
		By:            by,
		Unseen:        unseen,
	}
}

// value is *p, or what stands for a field that was left out.
func value[T any](p *T, missing T) T {
	if p == nil {
		return missing
	}
	return *p
}

// ——— out ———

func toExecution(e domain.Execution, pending []domain.Approval) api.Execution {
	r := e.Request
	out := api.Execution{
		Id:                     string(e.ID),
		Status:                 api.ExecutionStatus(e.Status),
		Source:                 api.Source{Type: api.SourceType(r.Source.Type), Model: textOrNull(r.Source.Model)},
		Prompt:                 textOrNull(r.Prompt),
		SystemPrompt:           textOrNull(r.SystemPrompt),
		Instructions:           textOrNull(r.Instructions),
		MaxIterations:          r.MaxIterations,
		TimeoutSeconds:         r.TimeoutSeconds,
		ApprovalTimeoutSeconds: r.ApprovalTimeoutSeconds,
		WorkingDirectory:       r.WorkingDirectory,
		Metadata:               api.Metadata{},
		Turn:                   e.Turn,
		Progress:               api.Progress{Rounds: e.Rounds, MaxIterations: r.MaxIterations},
		Usage:                  toUsage(e.Usage),
		Output:                 toOutput(e.Output),
		PendingApprovals:       []api.ApprovalSummary{},
		LastSeq:                e.LastSeq,
		CreatedAt:              api.Time(e.Created),
		UpdatedAt:              api.Time(e.Updated),
		EndedAt:                timeOrNull(e.Ended),
		CreatedBy:              e.ByKey,
	}
	out.Capabilities.Read = api.GrantedCapabilitiesRead(r.Capabilities.Read)
	out.Capabilities.Execute = api.GrantedCapabilitiesExecute(r.Capabilities.Execute)
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
	for _, a := range pending {
		if a.Status == domain.ApprovalPending {
			out.PendingApprovals = append(out.PendingApprovals, toSummary(a))
		}
	}
	return out
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
	out := &api.Output{Text: o.Text, FinishReason: api.FinishReason(o.FinishReason), DurationSeconds: o.DurationSeconds}
	if o.Error != nil {
		out.Error = &api.Failure{Code: string(o.Error.Code), Message: o.Error.Message}
	}
	return out
}

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
		RequestedAt: api.Time(a.Requested), ExpiresAt: timeOrNull(a.Expires), ResolvedAt: timeOrNull(a.Resolved),
		Decision: toDecision(a.Decision),
	}
}

func toDecision(d *domain.Decision) *api.Decision {
	if d == nil {
		return nil
	}
	out := &api.Decision{
		Decision: api.Verb(d.Verb), Reason: textOrNull(d.Reason), ArgumentsHash: textOrNull(d.ArgumentsHash),
		Remember: api.Remember(d.Remember), DecidedBy: api.Actor{KeyId: d.By.KeyID, Name: d.By.Name},
	}
	if d.Arguments != nil {
		out.Arguments = &d.Arguments
	}
	return out
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

func timeOrNull(t *time.Time) *api.Time { return (*api.Time)(t) }

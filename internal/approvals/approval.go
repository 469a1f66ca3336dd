package approvals

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/store"
)

// New returns a pending approval of question, which judgement asks for. It expires after timeout; 0 is never.
func New(
	execution domain.Execution, question domain.Question, hash string, judgement Judgement, timeout time.Duration, now time.Time,
) domain.Approval {
	now = now.UTC().Truncate(time.Microsecond) // the precision of the store: row and event must show the same instant
	approval := domain.Approval{
		ID: domain.ApprovalID(NewID()), Tenant: execution.Tenant, Execution: execution.ID, RunbookPlace: execution.Request.RunbookPlace(),
		Kind: question.Kind, Call: question.Call, Options: question.Options, Question: question.Form, WorkingDirectory: execution.Request.WorkingDirectory,
		ArgumentsHash: hash, Status: domain.ApprovalPending, Requested: now,
		AskedBy: string(judgement.By), Reason: judgement.Reason, MCP: judgement.MCP,
	}
	if path := execution.Path(); path != nil {
		approval.Root, approval.Path = execution.Root(), path
	}
	if tool := question.Call.MCP; tool != nil {
		if approval.MCP == nil { // no question whether the call may run
			approval.MCP = &domain.MCPReview{MCPTool: *tool}
		}
		bounded := *tool
		bounded.Canonical = kept(tool.Canonical)
		approval.Call.MCP = &bounded
	}
	if judgement.Notice != "" {
		approval.Reason = judgement.Notice + "\n" + judgement.Reason
	}
	if question.Kind.AnswerableByRule() {
		approval.RememberOptions = judgement.Options
	}
	if timeout > 0 {
		expires := now.Add(timeout)
		approval.Expires = &expires
	}
	return approval
}

// Requested is the event that shows approval.
func Requested(approval domain.Approval) domain.ApprovalRequested {
	return domain.ApprovalRequested{
		RunbookPlace: approval.RunbookPlace, ApprovalID: approval.ID, Root: approval.Root, Path: approval.Path,
		ToolCallID: approval.Call.ID, Kind: approval.Kind, Tool: approval.Call.Tool,
		Arguments: approval.Call.Arguments, ArgumentsHash: approval.ArgumentsHash, Summary: approval.Call.Summary,
		WorkingDirectory: approval.WorkingDirectory, Options: approval.Options, Question: approval.Question, ExpiresAt: approval.Expires,
		Isolation: approval.Isolation, Environment: approval.Environment, MCP: approval.MCP, Reversibility: approval.Reversibility, AskedBy: approval.AskedBy, Reason: approval.Reason, RememberOptions: approval.RememberOptions,
	}
}

// EndUndecided ends a pending approval without a person: expired, or cancelled with its execution. The caller writes the
// resolution and the event in one change.
func EndUndecided(approval domain.Approval, status domain.ApprovalStatus) (store.Resolution, domain.ApprovalResolved) {
	return store.Resolution{Approval: approval.ID, Status: status},
		domain.ApprovalResolved{RunbookPlace: approval.RunbookPlace, ApprovalID: approval.ID, ToolCallID: approval.Call.ID, Status: status}
}

// AnswerByRule decides a pending approval by a rule that covers it, in the name of the rule's author.
func AnswerByRule(approval domain.Approval, rule domain.PermissionRule) (store.Resolution, domain.ApprovalResolved) {
	status, decision := domain.ApprovalApproved, domain.Decision{
		Verb: domain.Approve, Remember: domain.RememberOnce, RuleID: rule.ID, By: rule.By,
	}
	options := Options(approval.Options)
	decision.OptionID, _ = AllowingOption(options)
	if rule.Effect == domain.Deny {
		status, decision.Verb, decision.OptionID = domain.ApprovalDenied, domain.DenyCall, RefusingOption(options)
		decision.Reason = "A permission rule denied this call: " + Describe(rule.Matcher) + "."
	}
	return store.Resolution{Approval: approval.ID, Status: status, Decision: &decision}, domain.ApprovalResolved{
		RunbookPlace: approval.RunbookPlace, ApprovalID: approval.ID, ToolCallID: approval.Call.ID, Status: status, Reason: decision.Reason,
		ArgumentsHash: approval.ArgumentsHash, Remember: decision.Remember, RuleID: rule.ID, OptionID: decision.OptionID, DecidedBy: &decision.By,
	}
}

// Granted returns the arguments that a decided approval lets run, after checking once more that they are the ones
// whose hash was approved. It is called by the session right before the start, with the row as the store holds it.
func Granted(approval domain.Approval) (json.RawMessage, error) {
	if approval.Status != domain.ApprovalApproved || approval.Decision == nil {
		return nil, domain.Errorf(domain.CodeConflict, "The approval is %s.", approval.Status)
	}
	if approval.Kind == domain.ApprovalUnknownOutcome { // an answer about the outcome starts nothing
		return nil, domain.Errorf(domain.CodeConflict, "The approval is about a call that has run.")
	}
	call := approval.Call
	if approval.Decision.Arguments != nil {
		call.Arguments = approval.Decision.Arguments
	}
	hash, err := Hash(call, approval.WorkingDirectory, approval.Environment.Stamp())
	if err != nil {
		return nil, fmt.Errorf("approvals: hash before the start: %w", err)
	}
	if hash != runs(approval, *approval.Decision) {
		return nil, domain.Errorf(domain.CodeArgumentsHash, "What would run is not what was approved.")
	}
	return call.Arguments, nil
}

// Refusal is the outcome and the failure that the model gets for a call that was not approved. It keeps rules and persons apart:
// the model may ask a person again, and not a rule.
func Refusal(approval domain.Approval) (domain.Outcome, domain.Failure) {
	switch approval.Status {
	case domain.ApprovalDenied:
		return domain.OutcomeDenied, denial(approval.Decision)
	case domain.ApprovalExpired:
		return domain.OutcomeExpired, domain.Failure{
			Code:    domain.CodeApprovalExpired,
			Message: "Nobody answered the request for approval in time, so the call did not run. This is not a refusal by a person.",
		}
	default:
		return domain.OutcomeCancelled, domain.Failure{Code: domain.CodeCancelled, Message: "The call was withdrawn before it ran."}
	}
}

func denial(decision *domain.Decision) domain.Failure {
	switch {
	case decision != nil && decision.ByRule():
		return domain.Failure{Code: domain.CodePolicyDenied, Message: decision.Reason}
	case decision != nil && decision.Reason != "":
		return domain.Failure{Code: domain.CodeDenied, Message: "A person denied this call and said: " + decision.Reason}
	default:
		return domain.Failure{Code: domain.CodeDenied, Message: "A person denied this call."}
	}
}

// runs is the hash of the call that a decision allows.
func runs(approval domain.Approval, decision domain.Decision) string {
	return cmp.Or(decision.ArgumentsHash, approval.ArgumentsHash)
}

// NewID returns a fresh id: a UUID of version 7, so that rows made later sort later (RFC 9562).
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// now has the precision of the store: the author of a rule and its later readers see the same instant.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

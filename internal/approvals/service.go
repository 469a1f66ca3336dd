package approvals

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/jcs"
	"signoff/internal/schema"
	"signoff/internal/store"
)

// Store is the part of the database that the service uses.
type Store interface {
	Approval(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID) (domain.Approval, error)
	Approvals(ctx context.Context, tenant domain.TenantID, filter store.ApprovalFilter) (store.Page[domain.Approval], error)
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	Rules(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID) ([]domain.PermissionRule, error)
	PermissionRule(ctx context.Context, tenant domain.TenantID, id string) (domain.PermissionRule, error)
	MCPPin(ctx context.Context, tenant domain.TenantID, server, tool string) (*domain.MCPPin, error)
	CreateRule(ctx context.Context, rule domain.PermissionRule, record domain.AuditRecord) error
	RevokeRule(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, record domain.AuditRecord) (domain.PermissionRule, error)
}

// Log writes decisions, and notifies the session that waits.
type Log interface {
	Commit(ctx context.Context, change store.Change) (store.Result, error)
}

// Tools checks arguments that a decider wrote.
type Tools interface {
	// Describe returns the call of a tool: one of ours, or one that the request declares for its client.
	Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error)
}

// Service takes the answers of people. Its methods may be called at once, on any replica.
type Service struct {
	store Store
	log   Log
	tools Tools

	environments    Environments // nil: there are none
	servers         Servers      // MCP servers; nil: none is trusted
	refusesCommands bool
	isolationIn     func(domain.Environment) Isolation // of commands; nil if nothing isolates them
}

// NewService returns a service that reads from s, writes to log, and checks edited arguments with tools.
func NewService(s Store, log Log, tools Tools) *Service {
	return &Service{store: s, log: log, tools: tools}
}

// Decide answers one approval and returns its new state, also beside an error about that state.
//
// Errors: CodeNotFound; CodeHashRequired and CodeArgumentsHash (the decider has seen another call than would run; if the tool has
// changed since, the approval is withdrawn); CodeInvalid (an option or an answer that the question does not have) and CodePolicyDenied (edited arguments); CodeAlreadyDecided (somebody decided otherwise);
// CodeApprovalExpired and CodeApprovalCancelled (nobody decided in time).
func (s *Service) Decide(ctx context.Context, tenant domain.TenantID, id domain.ApprovalID, answer Answer) (domain.Approval, error) {
	approval, err := s.store.Approval(ctx, tenant, id)
	if err != nil {
		return domain.Approval{}, err
	}
	if answer, err = interpret(approval.Kind, answer); err != nil {
		return approval, err
	}
	if approval.Status != domain.ApprovalPending {
		return approval, s.settledBefore(ctx, approval, answer)
	}
	decision, err := s.decision(ctx, approval, answer)
	if err != nil {
		return approval, err
	}
	switch why, err := s.changed(ctx, approval, answer); {
	case err != nil:
		return approval, err
	case why != nil:
		return s.askAgain(ctx, approval, answer, why)
	}
	stop, err := s.treeCancelOf(ctx, approval, answer)
	if err != nil {
		return approval, err
	}
	rule := remembered(approval, decision, answer)
	if rule != nil {
		decision.RuleID = rule.ID
	}
	failpoint.Hit(failpoint.BeforeDecisionRequest)
	pin := pinned(approval, decision, made(rule))
	_, err = s.log.Commit(ctx, stop.addTo(decided(approval, decision, rule, pin, answer.Channel)))
	failpoint.Hit(failpoint.AfterDecisionRequest)
	if err != nil && domain.CodeOf(err) != domain.CodeStale {
		return approval, err
	}
	if err == nil && rule != nil && rule.Scope != domain.RememberExecution {
		s.notifySessions(ctx, *rule)
	}
	if err == nil && pin != nil && approval.MCP != nil && approval.MCP.Standing != domain.MCPToolKnown {
		s.notifyPinned(ctx, *pin)
	}
	beaten := err != nil
	if approval, err = s.afterwards(ctx, approval, answer); err == nil && beaten {
		err = s.cancelTreeLate(ctx, approval, answer)
	}
	return approval, err
}

// treeCancel is the cancel of a tree with a denial; the zero value is none.
type treeCancel struct {
	root    domain.Execution
	request *store.CancelRequest
	record  domain.AuditRecord
}

// treeCancelOf is the cancel that an answer asks for. Its root must be that of the approval, because the person has seen that tree on the card.
func (s *Service) treeCancelOf(ctx context.Context, approval domain.Approval, answer Answer) (stop treeCancel, err error) {
	if answer.StopTree == "" {
		return stop, nil
	}
	if answer.Verb != domain.DenyCall {
		return stop, domain.Invalid("/stopTree", "Only a denial stops the tree.")
	}
	execution, err := s.store.Execution(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return stop, err
	}
	if execution.Root() != answer.StopTree {
		return stop, domain.Invalid("/stopTree", "The root of this approval's execution is %s.", execution.Root())
	}
	if stop.root, err = s.store.Execution(ctx, approval.Tenant, answer.StopTree); err != nil {
		return stop, err
	}
	stop.request = &store.CancelRequest{Reason: cmp.Or(answer.Reason, "a call was denied, and the tree stopped with it"), By: answer.By}
	stop.record = audit.Execution("execution.cancelled", stop.root, answer.By, answer.Channel)
	return stop, nil
}

// settledBefore is the error of an answer to an approval that is not pending any more.
func (s *Service) settledBefore(ctx context.Context, approval domain.Approval, answer Answer) error {
	if err := settled(approval, answer); err != nil {
		return err
	}
	return s.cancelTreeLate(ctx, approval, answer)
}

// cancelTreeLate cancels the tree for a repeated denial: if two people answer one approval, the second one may want to stop the tree.
func (s *Service) cancelTreeLate(ctx context.Context, approval domain.Approval, answer Answer) error {
	stop, err := s.treeCancelOf(ctx, approval, answer)
	if err != nil || stop.request == nil || stop.root.Status.Terminal() {
		return err
	}
	_, err = s.log.Commit(ctx, store.Change{Execution: stop.root.ID, Cancel: stop.request, Audit: []domain.AuditRecord{stop.record}})
	if domain.CodeOf(err) == domain.CodeStale && !errors.Is(err, store.ErrCommitUnknown) {
		return nil // it has ended meanwhile
	}
	return err
}

// addTo adds the cancel of the root to the change of the denial, in one transaction: the end of the root ends all executions below it, and the denied
// execution does not continue until then.
func (s treeCancel) addTo(change store.Change) store.Change {
	if s.request == nil {
		return change
	}
	change.Cancel = s.request
	if s.root.ID == change.Execution {
		change.Audit = append(change.Audit, s.record)
		return change
	}
	change.Linked = append(change.Linked, store.Change{
		Execution: s.root.ID, Cancel: s.request, Audit: []domain.AuditRecord{s.record}, IfLive: true,
	})
	return change
}

// made is the time of a decision: that of its rule, so that the rule covers the tool that the decision pins.
func made(rule *domain.PermissionRule) time.Time {
	if rule != nil {
		return rule.Created
	}
	return now()
}

// changed returns why an approved call could not run as it was shown: this release has another version of its tool, or none. If
// the approval were accepted, the policy would judge the call again and might refuse it after the client got 200. The tools that
// Signoff runs for an external agent, such as terminals, have no versions and are in no registry.
func (s *Service) changed(ctx context.Context, approval domain.Approval, answer Answer) (why *domain.Error, err error) {
	if approval.Kind != domain.ApprovalToolCall || answer.Verb != domain.Approve {
		return nil, nil
	}
	execution, err := s.store.Execution(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return nil, err
	}
	if execution.Request.Source.Type == domain.SourceACP {
		return nil, nil
	}
	if why := s.environmentChanged(execution.Request, approval); why != nil {
		return why, nil
	}
	if approval.Call.MCP != nil { // only the session knows how the server defines the tool now
		return nil, nil
	}
	now, err := s.tools.Describe(execution.Request, approval.Call.Tool, approval.Call.Arguments)
	switch {
	case domain.CodeOf(err) == domain.CodeUnknownTool:
		return domain.Errorf(domain.CodeArgumentsHash, "This release has no tool %s any more, so the call does not run.", approval.Call.Tool), nil
	case now.Version != approval.Call.Version:
		return domain.Errorf(domain.CodeArgumentsHash,
			"The call was shown for version %s of the tool %s, and this release has version %s. It is judged anew, and put to you again where the policy asks.",
			approval.Call.Version, approval.Call.Tool, now.Version), nil
	default: // the agent gets the error of arguments that the tool does not accept
		return nil, nil
	}
}

// environmentChanged returns why the call would run in another environment than the one that was shown: its definition has changed, or it is gone.
func (s *Service) environmentChanged(request domain.Request, approval domain.Approval) *domain.Error {
	now, err := s.environment(request)
	switch {
	case domain.CodeOf(err) == domain.CodeInvalid:
		return domain.Errorf(domain.CodeArgumentsHash, "The environment %s is not what the execution was promised any more, so the call does not run.", request.Environment.Name)
	case s.environments == nil || approval.Environment.Stamp().Same(now.Stamp()):
		return nil
	}
	return domain.Errorf(domain.CodeArgumentsHash,
		"The call was shown for another definition of the environment %s than the present one. It is judged anew, and put to you again where the policy asks.", request.Environment.Name)
}

// environment is the present environment of an execution; nil for one that is older than environments. It comes also beside the error of one
// that this server cannot build.
func (s *Service) environment(request domain.Request) (*domain.Environment, error) {
	if s.environments == nil || request.Environment.Name == "" {
		return nil, nil
	}
	now, err := s.environments.Choose(request.Environment)
	now.Name = request.Environment.Name
	return &now, err
}

// askAgain withdraws an approval that nobody can approve any more. Its session judges the call again.
func (s *Service) askAgain(ctx context.Context, approval domain.Approval, answer Answer, why error) (domain.Approval, error) {
	resolution, event := EndUndecided(approval, domain.ApprovalCancelled)
	_, err := s.log.Commit(ctx, store.Change{
		Execution: approval.Execution, Resolve: []store.Resolution{resolution},
		Events: []domain.Event{domain.NewEvent(approval.Execution, event)},
	})
	switch {
	case domain.CodeOf(err) == domain.CodeStale: // another decision was first
		return s.afterwards(ctx, approval, answer)
	case err != nil:
		return approval, err
	}
	approval.Status = domain.ApprovalCancelled
	return approval, why
}

// afterwards reads the approval after the conditional update: it has our decision, or an earlier one.
func (s *Service) afterwards(ctx context.Context, before domain.Approval, answer Answer) (domain.Approval, error) {
	approval, err := s.store.Approval(ctx, before.Tenant, before.ID)
	if err != nil {
		return domain.Approval{}, err
	}
	if approval.Status == domain.ApprovalPending {
		return approval, s.refused(ctx, approval)
	}
	return approval, settled(approval, answer)
}

// refused returns why the store refused a decision although the approval is pending: it has expired by the clock of the database
// and its session has not noticed yet, or its execution has just ended.
func (s *Service) refused(ctx context.Context, approval domain.Approval) error {
	execution, err := s.store.Execution(ctx, approval.Tenant, approval.Execution)
	switch {
	case err != nil:
		return err
	case execution.Status.Terminal():
		return domain.Errorf(domain.CodeApprovalCancelled, "The execution has ended: it is %s.", execution.Status)
	case approval.Expires != nil:
		return errExpired(approval)
	default:
		return domain.Errorf(domain.CodeUnavailable, "The decision could not be taken; try it again.")
	}
}

// decision checks an answer to a pending approval.
func (s *Service) decision(ctx context.Context, approval domain.Approval, answer Answer) (domain.Decision, error) {
	decision := domain.Decision{
		Verb: answer.Verb, Reason: answer.Reason, Remember: cmp.Or(answer.Remember, domain.RememberOnce),
		PreviewID: answer.preview(), By: answer.By, Resolution: answer.Resolution,
	}
	if err := seen(approval, answer); err != nil {
		return decision, err
	}
	if err := fitting(approval.Kind, answer); err != nil {
		return decision, err
	}
	if err := offered(approval, answer); err != nil {
		return decision, err
	}
	if approval.Kind == domain.ApprovalAgentPermission {
		option, err := choose(Options(approval.Options), answer)
		decision.OptionID = option
		return decision, err
	}
	if answer.Verb == domain.DenyCall {
		return decision, nil
	}
	if approval.Kind == domain.ApprovalQuestion {
		decision.Answer = answer.Answer
		return decision, fits(approval.Question, answer.Answer)
	}
	if answer.Arguments == nil || sameJSON(answer.Arguments, approval.Call.Arguments) {
		return decision, nil
	}
	decision.Arguments = answer.Arguments
	hash, err := s.edited(ctx, approval, answer.Arguments)
	decision.ArgumentsHash = hash
	return decision, err
}

// seen checks that the decider has seen the call. A hash in the answer must be right in any case.
func seen(approval domain.Approval, answer Answer) error {
	switch {
	case answer.ArgumentsHash == approval.ArgumentsHash:
		return nil
	case answer.ArgumentsHash != "":
		return domain.Errorf(domain.CodeArgumentsHash,
			"The call that waits has other arguments than the ones that you decided on. Read the approval again.")
	case answer.Verb == domain.Approve && !answer.Unseen:
		return domain.Errorf(domain.CodeHashRequired,
			"Send the argumentsHash of the approval that you have seen, or use a key with the scope approvals:decideUnseen.")
	default:
		return nil
	}
}

// fitting refuses fields that have no meaning for this kind of approval: a field that is silently ignored is a misunderstood
// decider.
func fitting(kind domain.ApprovalKind, answer Answer) error {
	denied := answer.Verb == domain.DenyCall
	switch {
	case answer.Arguments != nil && kind == domain.ApprovalUnknownOutcome:
		return domain.Invalid("/arguments", "Nothing runs by this answer. With retry, the call is put to you once more, and can be edited then.")
	case answer.Arguments != nil && denied:
		return domain.Invalid("/arguments", "A denied call does not run, so it takes no arguments.")
	case answer.Arguments != nil && kind != domain.ApprovalToolCall:
		return domain.Invalid("/arguments", "The agent runs this call itself; its arguments cannot be edited.")
	case answer.OptionID != "" && kind != domain.ApprovalAgentPermission:
		return domain.Invalid("/optionId", "Only the permission that an external agent asks for has options.")
	case answer.Answer != nil && (denied || kind != domain.ApprovalQuestion):
		return domain.Invalid("/answer", "Only a question that is approved has an answer.")
	default:
		return nil
	}
}

// edited has the tool and the policy judge edited arguments: a call that they block stays blocked.
func (s *Service) edited(ctx context.Context, approval domain.Approval, arguments json.RawMessage) (string, error) {
	execution, err := s.store.Execution(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return "", err
	}
	if execution.Request.Source.Type == domain.SourceACP {
		return "", domain.Invalid("/arguments", "What an external agent asks for runs as it stands or not at all; deny it and say why.")
	}
	call, err := s.describeEdited(execution.Request, approval, arguments)
	if err != nil {
		return "", err
	}
	call.ID, call.Version = approval.Call.ID, approval.Call.Version
	hash, err := Hash(call, approval.WorkingDirectory, approval.Environment.Stamp())
	if err != nil {
		return "", domain.Invalid("/arguments", "These arguments have no canonical form.").With(err)
	}
	rules, err := s.store.Rules(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return "", err
	}
	policy, _ := NewPolicy(execution.Request) // a policy that cannot be read refuses everything
	policy.Rules, policy.Servers = rules, s.servers
	if environment, _ := s.environment(execution.Request); environment != nil { // an error refuses the call, whoever allows it
		policy.Environment = environment
	}
	policy.unattended = false // the person who edits is there
	if judgement := policy.Judge(ctx, call, hash, time.Now()); judgement.Verdict == domain.Deny {
		return "", domain.Errorf(domain.CodePolicyDenied, "The policy refuses the edited call. %s", judgement.Reason)
	}
	return hash, nil
}

// describeEdited returns a call with the arguments that the decider wrote. Those of an MCP tool must fit the schema that the decider has seen.
func (s *Service) describeEdited(request domain.Request, approval domain.Approval, arguments json.RawMessage) (domain.ToolCall, error) {
	if approval.Call.MCP == nil {
		call, err := s.tools.Describe(request, approval.Call.Tool, arguments)
		if err != nil {
			return call, domain.Invalid("/arguments", "%s", domain.FailureOf(err).Message).With(err)
		}
		return call, nil
	}
	call := approval.Call
	call.Arguments, call.Action = arguments, domain.Action{Server: approval.Call.MCP.Server}
	var tool struct {
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal(call.MCP.Canonical, &tool); err != nil || tool.InputSchema == nil {
		return call, nil //nolint:nilerr // too long to be kept: the server checks them
	}
	wanted, err := schema.Compile(tool.InputSchema)
	if err != nil {
		return call, nil //nolint:nilerr // a schema of the server's own making, which the server checks
	}
	if details := wanted.Check(arguments); len(details) > 0 {
		return call, domain.Below("/arguments", domain.InvalidParts(details...))
	}
	return call, nil
}

// settled compares an answer with the state of a decided approval.
func settled(approval domain.Approval, answer Answer) error {
	switch approval.Status {
	case domain.ApprovalExpired:
		return errExpired(approval)
	case domain.ApprovalCancelled:
		return domain.Errorf(domain.CodeApprovalCancelled, "The approval was withdrawn before anybody decided.")
	}
	if same(*approval.Decision, approval, answer) {
		return nil
	}
	return domain.Errorf(domain.CodeAlreadyDecided, "%s has already decided: %s.", approval.Decision.By.Name,
		cmp.Or(string(approval.Decision.Resolution), string(approval.Status)))
}

// same reports whether answer repeats decision. Author and reason may differ.
func same(decision domain.Decision, approval domain.Approval, answer Answer) bool {
	remember := cmp.Or(answer.Remember, domain.RememberOnce)
	if decision.Remember != remember || decision.PreviewID != answer.preview() {
		return false
	}
	if approval.Kind == domain.ApprovalUnknownOutcome { // with deny or without it, failed is failed
		return decision.Resolution == answer.Resolution
	}
	if decision.Verb != answer.Verb {
		return false
	}
	switch approval.Kind {
	case domain.ApprovalAgentPermission:
		option, err := choose(Options(approval.Options), answer)
		return err == nil && option == decision.OptionID
	case domain.ApprovalQuestion:
		return (answer.Answer == nil && decision.Answer == nil) || (answer.Answer != nil && decision.Answer != nil && sameJSON(answer.Answer, decision.Answer))
	default:
		return sameJSON(or(answer.Arguments, approval.Call.Arguments), or(decision.Arguments, approval.Call.Arguments))
	}
}

// sameJSON compares the values of two documents. A document without a canonical form equals only itself.
func sameJSON(a, b json.RawMessage) bool {
	canonicalA, errA := jcs.Canonical(a)
	canonicalB, errB := jcs.Canonical(b)
	return bytes.Equal(a, b) || (errA == nil && errB == nil && bytes.Equal(canonicalA, canonicalB))
}

func errExpired(approval domain.Approval) error {
	when := ""
	if approval.Expires != nil {
		when = " at " + approval.Expires.UTC().Format(time.RFC3339)
	}
	return domain.Errorf(domain.CodeApprovalExpired, "Nobody decided before the approval expired%s.", when)
}

// decided returns the change of a decision: the row, if still pending, the event, the audit record, the remembered rule, and the pin of an MCP tool.
func decided(approval domain.Approval, decision domain.Decision, rule *domain.PermissionRule, pin *domain.MCPPin, channel string) store.Change {
	status := domain.ApprovalApproved
	if decision.Verb == domain.DenyCall {
		status = domain.ApprovalDenied
	}
	change := store.Change{
		Execution: approval.Execution,
		Resolve:   []store.Resolution{{Approval: approval.ID, Status: status, Decision: &decision}},
		Events: []domain.Event{domain.NewEvent(approval.Execution, domain.ApprovalResolved{
			RunbookPlace: approval.RunbookPlace, ApprovalID: approval.ID, ToolCallID: approval.Call.ID, Status: status, Reason: decision.Reason,
			Edited: decision.Arguments != nil, ArgumentsHash: runs(approval, decision), Remember: decision.Remember,
			PreviewID: decision.PreviewID, RuleID: decision.RuleID,
			OptionID: decision.OptionID, Answer: decision.Answer, Resolution: decision.Resolution, DecidedBy: &decision.By,
		})},
		Audit: []domain.AuditRecord{audit.Decided(approval, status, decision, channel)},
	}
	if pin != nil {
		change.Pins = []domain.MCPPin{*pin}
	}
	if rule != nil {
		change.Remember = []domain.PermissionRule{*rule}
		record := audit.Rule("rule.created", *rule, decision.By, channel)
		record.Root = approval.Root // the change has the execution
		change.Audit = append(change.Audit, record)
	}
	return change
}

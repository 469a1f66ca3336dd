package audit

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// Channels are the ways by which something is done.
const (
	ByAPI     = "api"     // a request with a key
	BySession = "session" // the server itself, while it drives an execution
	ByAgent   = "agent"   // an external agent that did not ask
	ByCLI     = "cli"     // a command on the server's machine
	ByServer  = "server"  // the server itself, without being asked
)

// summaryBytes bounds the summary of a result.
const summaryBytes = 300

// Decided is the record of a person's decision.
func Decided(approval domain.Approval, status domain.ApprovalStatus, decision domain.Decision, channel string) domain.AuditRecord {
	about := map[string]any{
		"toolCallId": approval.Call.ID, "kind": approval.Kind, "askedBy": approval.AskedBy, "askedReason": short(approval.Reason),
		"edited":   decision.Arguments != nil,
		"runsHash": decision.ArgumentsHash, "remember": decision.Remember, "optionId": decision.OptionID,
		"resolution": decision.Resolution,
	}
	addTool(about, approval.Call.MCP)
	return domain.AuditRecord{
		Action: "approval.decided", Execution: approval.Execution, Root: approval.Root, RunbookID: approval.RunbookID, BlockID: approval.BlockID, Subject: string(approval.ID),
		Tool: approval.Call.Tool, Class: approval.Call.Class, ArgumentsHash: approval.ArgumentsHash, Details: domain.Encode(about),
		DecidedBy: "decision", RuleID: decision.RuleID, Reason: decision.Reason, Actor: &decision.By, Channel: channel,
		Outcome: string(status), Summary: short(approval.Call.Summary), Environment: approval.Environment.Stamp(),
	}
}

// Rule is the record of a change of a permission rule.
func Rule(action string, rule domain.PermissionRule, by domain.Actor, channel string) domain.AuditRecord {
	record := domain.AuditRecord{
		Action: action, Execution: rule.Execution, Subject: rule.ID, RuleID: rule.ID, Actor: &by, Channel: channel,
	}
	if rule.Scope != "" {
		record.Outcome = string(rule.Effect)
		record.Details = domain.Encode(map[string]any{"scope": rule.Scope, "matcher": rule.Matcher, "approvalId": rule.Approval})
	}
	return record
}

// Provenance says who or which rule let a call run, or refused it.
type Provenance struct {
	DecidedBy string
	RuleID    string
	Reason    string
	Actor     *domain.Actor
	Channel   string
	Hash      string // of the arguments; empty if there are none

	Environment *domain.EnvironmentStamp // that the call runs in; nil: none

	AskedBy     string // for a call that a person decided: the part of the policy that asked, and why
	AskedReason string
}

// Call is the record of a tool call with its outcome.
func Call(execution domain.Execution, call domain.ToolCall, came Provenance, done domain.ToolCallCompleted) domain.AuditRecord {
	return domain.AuditRecord{
		Action: "toolCall." + string(cmp.Or(call.Class, "unknown")), Subject: call.ID,
		Tool: call.Tool, Class: call.Class, ArgumentsHash: came.Hash, Details: details(call, came),
		DecidedBy: came.DecidedBy, RuleID: came.RuleID, Reason: came.Reason, Actor: came.Actor, Channel: came.Channel,
		Outcome: string(done.Outcome), Summary: short(done.Output), DurationMs: done.DurationMs, Environment: came.Environment,
	}.Of(execution)
}

// details describe a call without its contents: a written file is named, not repeated.
func details(call domain.ToolCall, came Provenance) json.RawMessage {
	about := map[string]any{"summary": short(call.Summary)}
	if came.AskedBy != "" {
		about["askedBy"], about["askedReason"] = came.AskedBy, short(came.AskedReason)
	}
	if call.Action.Command != "" {
		about["command"] = shortTo(call.Action.Command, 4<<10)
	}
	for name, list := range map[string][]string{"paths": call.Action.Paths, "hosts": call.Action.Hosts, "secrets": call.Action.Secrets} {
		if len(list) > 0 {
			about[name] = list
		}
	}
	if call.Action.Server != "" {
		about["mcpServer"] = call.Action.Server
	}
	addTool(about, call.MCP)
	return domain.Encode(about)
}

// addTool names the tool of an MCP server, with the hash of the definition that was approved or has run.
func addTool(about map[string]any, tool *domain.MCPTool) {
	if tool != nil {
		about["mcpServer"], about["mcpTool"], about["definition"] = tool.Server, tool.Tool, tool.Definition
	}
}

// Execution is the record of an act on an execution.
func Execution(action string, execution domain.Execution, by domain.Actor, channel string) domain.AuditRecord {
	return domain.AuditRecord{
		Action: action, Subject: string(execution.ID), Actor: &by, Channel: channel, Outcome: string(execution.Status),
		Environment: execution.Request.Environment.Stamp(),
	}.Of(execution)
}

// Rollback returns a record of a rollback: of its request, or of its end.
func Rollback(execution domain.Execution, rollback domain.Rollback, state domain.RollbackState, result *domain.RollbackResult, channel string) domain.AuditRecord {
	restored, kept := 0, 0
	if result != nil {
		for _, folder := range result.Folders {
			restored, kept = restored+folder.RestoredCount, kept+folder.KeptCount
		}
	}
	return domain.AuditRecord{
		Action: "rollback." + string(state), Subject: string(execution.ID), Actor: &rollback.Request.By, Channel: channel, Outcome: string(state),
		Environment: execution.Request.Environment.Stamp(),
		Details:     domain.Encode(map[string]any{"rollback": rollback.Number, "to": rollback.Request.To, "hash": rollback.Request.Hash, "paths": rollback.Request.Paths, "restored": restored, "kept": kept}),
	}.Of(execution)
}

// A fetch has two records: somebody asked for it, and it has ended.
const (
	FetchRequested = "workspace.fetchRequested"
	FetchEnded     = "workspace.fetchEnded"
)

// Fetch returns a record of a fetch of an execution's branch into the user's repository. err says why the fetch failed; nil: it succeeded, or has not ended yet.
func Fetch(execution domain.Execution, action, commit string, by domain.Actor, err error) domain.AuditRecord {
	record := Execution(action, execution, by, ByAPI)
	record.Details = domain.Encode(map[string]any{"branch": execution.ID.Branch(), "commit": commit})
	switch {
	case action == FetchRequested:
		record.Outcome = "requested"
	case err != nil:
		record.Outcome, record.Reason = "failed", string(domain.CodeOf(err))
	default:
		record.Outcome = "completed"
	}
	return record
}

// Memory is the record of notes that were replaced.
func Memory(scope domain.MemoryScope, revision int64, bytes int, by domain.Actor, channel string) domain.AuditRecord {
	return domain.AuditRecord{
		Action: "memory.saved", RunbookID: scope.Runbook(), Subject: string(scope), Actor: &by, Channel: channel,
		Details: domain.Encode(map[string]any{"replaced": revision, "bytes": bytes}),
	}
}

// AgentProfile is the record of a profile that was made, replaced or deleted; the version is the one that was replaced.
func AgentProfile(action string, profile domain.AgentProfile, channel string) domain.AuditRecord {
	record := domain.AuditRecord{Action: action, Subject: profile.Name, Actor: &profile.By, Channel: channel}
	if profile.Definition != nil {
		record.Details = domain.Encode(map[string]any{"replaced": profile.Version, "digest": profile.Digest(), "grants": append([]string{}, profile.Grants...)})
	}
	return record
}

// Key is the record of an operator's act on an API key. It never holds the secret.
func Key(action, id, name string, scopes []string) domain.AuditRecord {
	record := domain.AuditRecord{Action: action, Subject: id, Channel: ByCLI}
	if name != "" {
		record.Details = domain.Encode(map[string]any{"name": name, "scopes": scopes})
	}
	return record
}

// SignIn is the record of a sign-in at the authorization server of an MCP server, or of its end: then key names the tenant and the server alone.
func SignIn(action string, key domain.MCPCredentialKey) domain.AuditRecord {
	record := domain.AuditRecord{Action: action, Subject: key.Server, Channel: ByCLI}
	if key.Issuer != "" {
		record.Details = domain.Encode(map[string]any{"issuer": key.Issuer, "resource": key.Resource, "clientId": key.ClientID})
	}
	return record
}

func short(text string) string { return shortTo(text, summaryBytes) }

func shortTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.TrimSpace(text[:limit]) + " …"
}

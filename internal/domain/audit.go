package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// AuditRecord is what somebody or something did, and who or what decided it.
type AuditRecord struct {
	Action        string          `json:"action"` // noun.verb: toolCall.bash, approval.decided, rule.revoked …
	Execution     ExecutionID     `json:"executionId,omitempty"`
	Root          ExecutionID     `json:"rootId,omitempty"` // of the tree, if the execution is a child
	RunbookID     string          `json:"runbookId,omitempty"`
	BlockID       string          `json:"blockId,omitempty"` // of the runbook, that has started the execution
	BlockName     string          `json:"blockName,omitempty"`
	Subject       string          `json:"subject,omitempty"` // id of the call, approval, rule, memory …
	Tool          string          `json:"tool,omitempty"`
	Class         Class           `json:"class,omitempty"`
	ArgumentsHash string          `json:"argumentsHash,omitempty"`
	Details       json.RawMessage `json:"details,omitempty"`   // of the action: what ran, what was asked
	DecidedBy     string          `json:"decidedBy,omitempty"` // see approvals.Source
	RuleID        string          `json:"ruleId,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	Actor         *Actor          `json:"actor,omitempty"` // nil where no person was in it
	Channel       string          `json:"channel"`         // by what way: api, session, agent, cli
	Outcome       string          `json:"outcome,omitempty"`
	Summary       string          `json:"summary,omitempty"` // of the result, cut short
	DurationMs    int64           `json:"durationMs,omitempty"`

	Environment *EnvironmentStamp `json:"environment,omitempty"` // in which it runs; nil where there was none, or nothing runs

	Charged
}

// Of returns the record with the tree, the runbook, the block and the payer of an execution.
func (r AuditRecord) Of(execution Execution) AuditRecord {
	r = r.InTree(execution)
	r.RunbookID, r.Charged = execution.Request.RunbookID, execution.Request.Charged()
	if block := execution.Request.Block; block != nil {
		r.BlockID, r.BlockName = block.ID, block.Name
	}
	return r
}

// InTree returns the record with an execution and the root of its tree.
func (r AuditRecord) InTree(execution Execution) AuditRecord {
	r.Execution = execution.ID
	if root := execution.Root(); root != execution.ID {
		r.Root = root
	}
	return r
}

// AuditEntry is one link of a tenant's chain. Entries are appended and never changed.
//
// Action, Execution and Root are what entries are looked up by, beside the record and in no hash: see [AuditEntry.Agrees].
type AuditEntry struct {
	Tenant    TenantID
	Seq       int64 // 1, 2, 3 … within the tenant
	Time      time.Time
	Action    string
	Execution ExecutionID
	Root      ExecutionID     // empty if the execution is no child
	Record    json.RawMessage // the encoded [AuditRecord], byte for byte
	Previous  string          // hash of the entry before; empty for the first
	Hash      string
}

// Decoded reads the record.
func (e AuditEntry) Decoded() (record AuditRecord, err error) {
	if err := json.Unmarshal(e.Record, &record); err != nil {
		return record, fmt.Errorf("domain: audit entry %d: %w", e.Seq, err)
	}
	return record, nil
}

// Agrees reports whether the columns by which e is found agree with its record. If not, somebody has hidden the entry from searches by execution, tree or
// action, without touching the record and so the hash.
func (e AuditEntry) Agrees() bool {
	record, err := e.Decoded()
	return err == nil && record.Action == e.Action && record.Execution == e.Execution && record.Root == e.Root
}

// Link returns the hash that e must have: SHA-256, in hex, over the lines tenant, seq, time in microseconds, hash of
// the entry before, and record. Changing, moving or removing an entry breaks the chain behind it.
func (e AuditEntry) Link() string {
	digest := sha256.New()
	for _, part := range []string{
		string(e.Tenant), strconv.FormatInt(e.Seq, 10), strconv.FormatInt(e.Time.UnixMicro(), 10), e.Previous, string(e.Record),
	} {
		digest.Write([]byte(strconv.Itoa(len(part)) + " " + part + "\n")) // the length: no part can pass for two
	}
	return hex.EncodeToString(digest.Sum(nil))
}

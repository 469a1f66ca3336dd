package http

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"time"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/stream"
	"signoff/internal/keys"
	"signoff/internal/store"
)

const (
	typeLines = "application/x-ndjson"
	// exportPage is how many of the small things are read at once, and exportCalls how many calls of the client: an answer
	// may be as large as a request.
	exportPage   = 200
	exportCalls  = 10
	exportEvents = 1000
)

// exportExecution gives all that is kept of an execution. It is read piece by piece while it is written, so a log of a
// gigabyte needs no more memory than a short one.
func (s *Server) exportExecution(ctx context.Context, request named) (responder, error) {
	by := who(ctx)
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if !by.May(keys.EventsRead) {
		return nil, domain.Errorf(domain.CodeForbidden, "The key lacks the scope %s.", keys.EventsRead)
	}
	shown, err := s.shown(ctx, execution)
	if err != nil {
		return nil, err
	}
	first := exportHead{Type: lineExecution, ExportedAt: api.Time(time.Now()), LastSeq: execution.LastSeq, Omitted: []string{}, Execution: shown}
	if !by.May(keys.ApprovalsRead) {
		first.omit(lineApproval)
		first.Execution.PendingApprovals = []api.ApprovalSummary{}
	}
	if !by.May(keys.AuditRead) {
		first.omit(lineAudit)
	}
	return &export{server: s, ctx: ctx, execution: execution, first: first}, nil
}

// Types of lines, each of which names the property with what it is about.
const (
	lineExecution  = "execution"
	lineApproval   = "approval"
	lineGeneration = "generation"
	lineClientCall = "clientCall"
	linePrompt     = "prompt"
	lineEvent      = "event"
	lineAudit      = "auditEntry"
	lineEnd        = "end"
)

// exportHead is the first line.
type exportHead struct {
	Type       string        `json:"type"`
	ExportedAt api.Time      `json:"exportedAt"`
	LastSeq    int64         `json:"lastSeq"`
	Omitted    []string      `json:"omitted"`
	Execution  api.Execution `json:"execution"`
}

func (h *exportHead) omit(line string) { h.Omitted = append(h.Omitted, line) }

func (h *exportHead) has(line string) bool { return !slices.Contains(h.Omitted, line) }

// exportEnd is the last line. Without it a file that broke off looks like a whole one.
type exportEnd struct {
	Type   string         `json:"type"`
	Counts map[string]int `json:"counts"`
	SHA256 string         `json:"sha256"`
}

// export writes the lines of one execution.
type export struct {
	server    *Server
	ctx       context.Context // the request's: it ends when the client goes away
	execution domain.Execution
	first     exportHead

	out    *bufio.Writer
	hash   hash.Hash
	counts map[string]int
}

// respond breaks the connection off where something fails: the status is sent by then, and nobody is
// to take a half for the whole.
func (e *export) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeLines)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="execution-%s.ndjson"`, e.execution.ID))
	w.WriteHeader(http.StatusOK)
	if infoOf(e.ctx).headOnly {
		return nil
	}
	e.out, e.hash, e.counts = bufio.NewWriterSize(stream.Patient(w), stream.MaxWrite), sha256.New(), map[string]int{}
	err := e.write()
	if err == nil {
		return nil
	}
	info := infoOf(e.ctx)
	if info.abandoned = e.ctx.Err() != nil || stream.Lost(err); !info.abandoned {
		e.server.log.WarnContext(e.ctx, "export broke off", "requestId", info.requestID, "error", err)
	}
	panic(http.ErrAbortHandler)
}

func (e *export) write() error {
	if err := e.line(lineExecution, e.first); err != nil {
		return err
	}
	for _, part := range []func() error{e.approvals, e.generations, e.clientCalls, e.prompts, e.events, e.audit} {
		if err := part(); err != nil {
			return err
		}
	}
	end := exportEnd{lineEnd, e.counts, hex.EncodeToString(e.hash.Sum(nil))}
	if err := e.line(lineEnd, end); err != nil {
		return err
	}
	return e.out.Flush()
}

// line writes one line as it is.
func (e *export) line(kind string, content any) error {
	encoded := append(domain.Encode(content), '\n')
	e.hash.Write(encoded)
	e.counts[kind]++
	_, err := e.out.Write(encoded)
	return err
}

// about writes the line of one thing.
func (e *export) about(kind string, thing any) error {
	return e.line(kind, map[string]any{"type": kind, kind: thing})
}

func (e *export) approvals() error {
	if !e.first.has(lineApproval) {
		return nil
	}
	all, err := e.server.reader.ApprovalsOf(e.ctx, e.execution.ID)
	if err != nil {
		return err
	}
	for _, approval := range all {
		if err := e.about(lineApproval, toApproval(approval)); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) generations() error {
	all, err := e.server.reader.Generations(e.ctx, e.execution.Tenant, e.execution.ID)
	if err != nil {
		return err
	}
	for _, generation := range all {
		if err := e.about(lineGeneration, toGeneration(generation)); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) clientCalls() error {
	for after := ""; ; {
		calls, err := e.server.reader.ClientCallPage(e.ctx, e.execution.ID, after, exportCalls)
		if err != nil || len(calls) == 0 {
			return err
		}
		for _, call := range calls {
			if err := e.about(lineClientCall, toClientCall(call)); err != nil {
				return err
			}
		}
		after = calls[len(calls)-1].ToolCallID
	}
}

func (e *export) prompts() error {
	for after := domain.PromptID(""); ; {
		prompts, err := e.server.reader.PromptPage(e.ctx, e.execution.ID, after, exportPage)
		if err != nil || len(prompts) == 0 {
			return err
		}
		for _, prompt := range prompts {
			if err := e.about(linePrompt, toPrompt(prompt)); err != nil {
				return err
			}
		}
		after = prompts[len(prompts)-1].ID
	}
}

// events ends with the event that was the last when the export began. Where one is missing, the execution was deleted
// meanwhile.
func (e *export) events() error {
	for after := int64(0); after < e.execution.LastSeq; {
		limit := min(e.execution.LastSeq-after, exportEvents)
		page, err := e.server.reader.EventPage(e.ctx, e.execution.ID, after, int(limit), stream.MaxPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return domain.Errorf(domain.CodeNotFound, "The execution was deleted.")
		}
		for _, event := range page {
			if err := e.about(lineEvent, json.RawMessage(events.NewFrame(event).JSON())); err != nil {
				return err
			}
		}
		after = page[len(page)-1].Seq
	}
	return nil
}

func (e *export) audit() error {
	if !e.first.has(lineAudit) {
		return nil
	}
	for after := int64(0); ; {
		entries, err := e.server.reader.Audit(e.ctx, e.execution.Tenant, store.AuditFilter{Execution: e.execution.ID, After: after, Limit: exportPage})
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			shown, err := toAuditEntry(entry)
			if err != nil {
				return err
			}
			if err := e.about(lineAudit, shown); err != nil {
				return err
			}
		}
		after = entries[len(entries)-1].Seq
	}
}

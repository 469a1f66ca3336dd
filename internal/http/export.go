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
	// exportPage and exportCalls are how many rows are read at once. The result of a client call may be as large as a request.
	exportPage   = 200
	exportCalls  = 10
	exportEvents = 1000
)

// exportExecution returns all stored data of an execution, and of all below it if it is a root. It reads page by page while it writes, so a log of a
// gigabyte needs no more memory than a short one.
func (s *Server) exportExecution(ctx context.Context, request executionPath) (responder, error) {
	by := principalOf(ctx)
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if !by.May(keys.EventsRead) {
		return nil, domain.Errorf(domain.CodeForbidden, "The key lacks the scope %s.", keys.EventsRead)
	}
	e := &export{server: s, ctx: ctx, tree: []domain.Execution{execution}, omitted: []string{}}
	if execution.Root() == execution.ID {
		if e.tree, err = s.reader.Tree(ctx, by.Tenant, execution.ID); err != nil {
			return nil, err
		}
	}
	if !by.May(keys.ApprovalsRead) {
		e.omitted = append(e.omitted, lineApproval)
	}
	if !by.May(keys.AuditRead) {
		e.omitted = append(e.omitted, lineAudit)
	}
	return e, nil
}

// Types of lines. A line holds its object under its type.
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

// exportHead is the first line of each execution.
type exportHead struct {
	Type       string        `json:"type"`
	ExportedAt api.Time      `json:"exportedAt"`
	LastSeq    int64         `json:"lastSeq"`
	Omitted    []string      `json:"omitted"` // types of lines that the key may not read
	Execution  api.Execution `json:"execution"`
}

// exportEnd is the last line. Without it, a truncated file would look complete.
type exportEnd struct {
	Type   string         `json:"type"`
	Counts map[string]int `json:"counts"`
	SHA256 string         `json:"sha256"`
}

// export writes the lines of one execution after the other, as they were when it began.
type export struct {
	server    *Server
	ctx       context.Context // the request's: it ends when the client disconnects
	tree      []domain.Execution
	omitted   []string
	execution domain.Execution // whose lines are written

	out    *bufio.Writer
	hash   hash.Hash
	counts map[string]int
}

// respond breaks the connection off after an error: the status has been sent by then, and a half must not look like the whole.
func (e *export) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", typeLines)
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="execution-%s.ndjson"`, e.tree[0].ID))
	w.WriteHeader(http.StatusOK)
	if infoOf(e.ctx).headOnly {
		return nil
	}
	e.out, e.hash, e.counts = bufio.NewWriterSize(stream.DeadlineWriter(w), stream.MaxWrite), sha256.New(), map[string]int{}
	err := e.write()
	if err == nil {
		return nil
	}
	info := infoOf(e.ctx)
	if info.abandoned = e.ctx.Err() != nil || stream.IsDisconnect(err); !info.abandoned {
		e.server.log.WarnContext(e.ctx, "export broke off", "requestId", info.requestID, "error", err)
	}
	panic(http.ErrAbortHandler)
}

func (e *export) write() error {
	for _, e.execution = range e.tree {
		for _, part := range []func() error{e.head, e.approvals, e.generations, e.clientCalls, e.prompts, e.events, e.audit} {
			if err := part(); err != nil {
				return err
			}
		}
	}
	end := exportEnd{lineEnd, e.counts, hex.EncodeToString(e.hash.Sum(nil))}
	if err := e.line(lineEnd, end); err != nil {
		return err
	}
	return e.out.Flush()
}

func (e *export) line(kind string, content any) error {
	encoded := append(domain.Encode(content), '\n')
	e.hash.Write(encoded)
	e.counts[kind]++
	_, err := e.out.Write(encoded)
	return err
}

func (e *export) head() error {
	view, err := e.server.view(e.ctx, e.execution)
	if err != nil {
		return err
	}
	if slices.Contains(e.omitted, lineApproval) {
		view.PendingApprovals = []api.ApprovalSummary{}
	}
	return e.line(lineExecution, exportHead{
		Type: lineExecution, ExportedAt: api.Time(time.Now()), LastSeq: e.execution.LastSeq, Omitted: e.omitted, Execution: view,
	})
}

// exportPages writes a line for each object. It reads pages behind the last object of the page before, nil at first, until one is empty.
func exportPages[T, View any](e *export, kind string, view func(T) View, read func(last *T) ([]T, error)) error {
	if slices.Contains(e.omitted, kind) {
		return nil
	}
	for last := (*T)(nil); ; {
		page, err := read(last)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, object := range page {
			if err := e.line(kind, map[string]any{"type": kind, kind: view(object)}); err != nil {
				return err
			}
		}
		last = &page[len(page)-1]
	}
}

func (e *export) approvals() error {
	return exportPages(e, lineApproval, toApproval, func(last *domain.Approval) ([]domain.Approval, error) {
		if last != nil {
			return nil, nil
		}
		return e.server.reader.ApprovalsOf(e.ctx, e.execution.ID)
	})
}

func (e *export) generations() error {
	return exportPages(e, lineGeneration, toGeneration, func(last *domain.Generation) ([]domain.Generation, error) {
		if last != nil {
			return nil, nil
		}
		return e.server.reader.Generations(e.ctx, e.execution.Tenant, e.execution.ID)
	})
}

func (e *export) clientCalls() error {
	return exportPages(e, lineClientCall, toClientCall, func(last *domain.ClientCall) ([]domain.ClientCall, error) {
		if last == nil {
			last = &domain.ClientCall{}
		}
		return e.server.reader.ClientCallPage(e.ctx, e.execution.ID, last.ToolCallID, exportCalls)
	})
}

func (e *export) prompts() error {
	return exportPages(e, linePrompt, toPrompt, func(last *domain.QueuedPrompt) ([]domain.QueuedPrompt, error) {
		if last == nil {
			last = &domain.QueuedPrompt{}
		}
		return e.server.reader.PromptPage(e.ctx, e.execution.ID, last.ID, exportPage)
	})
}

// events ends with the event that was the last when the export began. A missing event means that the execution was deleted meanwhile.
func (e *export) events() error {
	view := func(event domain.Event) json.RawMessage { return events.NewFrame(event).JSON() }
	return exportPages(e, lineEvent, view, func(last *domain.Event) ([]domain.Event, error) {
		if last == nil {
			last = &domain.Event{}
		}
		limit := min(e.execution.LastSeq-last.Seq, exportEvents)
		if limit <= 0 {
			return nil, nil
		}
		page, err := e.server.reader.EventPage(e.ctx, e.execution.ID, last.Seq, int(limit), stream.MaxPage)
		if err == nil && len(page) == 0 {
			err = domain.Errorf(domain.CodeNotFound, "The execution was deleted.")
		}
		return page, err
	})
}

func (e *export) audit() error {
	same := func(entry api.AuditEntry) api.AuditEntry { return entry }
	return exportPages(e, lineAudit, same, func(last *api.AuditEntry) ([]api.AuditEntry, error) {
		if last == nil {
			last = &api.AuditEntry{}
		}
		filter := store.AuditFilter{Execution: e.execution.ID, After: last.Seq, Limit: exportPage}
		entries, err := e.server.reader.Audit(e.ctx, e.execution.Tenant, filter)
		if err != nil {
			return nil, err
		}
		return toAuditEntries(entries)
	})
}

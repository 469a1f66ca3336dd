package http

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"signoff/api"
	"signoff/internal/checkpoints"
	"signoff/internal/diff"
	"signoff/internal/domain"
	"signoff/internal/http/stream"
)

// Checkpoints reads the checkpoints of executions.
type Checkpoints interface {
	// Unavailable returns why this server takes no checkpoints; empty: it takes them.
	Unavailable() string
	// Diff compares two checkpoints. mask masks the secrets of a text.
	Diff(ctx context.Context, of checkpoints.Range, mask func(string) string) (checkpoints.Diff, error)
}

type listCheckpoints struct {
	executionPath
	numbered
}

// listCheckpoints returns the checkpoints of an execution, and the failures to take one.
func (s *Server) listCheckpoints(ctx context.Context, request listCheckpoints) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	log, err := s.reader.EventsOfType(ctx, execution.ID, domain.CheckpointCreatedType, request.start(), request.Limit, stream.MaxPage)
	if err != nil {
		return nil, err
	}
	page := api.CheckpointPage{
		Mode: cmp.Or(execution.Request.Checkpoints, domain.CheckpointsOff), Unavailable: textOrNull(s.checkpoints.Unavailable()), Items: []api.Checkpoint{},
	}
	points, err := domain.PayloadsOf[domain.CheckpointCreated](log)
	if err != nil {
		return nil, err
	}
	for i, point := range points {
		page.Items = append(page.Items, api.Checkpoint{Seq: log[i].Seq, Time: api.Time(log[i].Time), Checkpoint: point})
	}
	if len(log) > 0 { // a page ends by its count or by its size, so only another read shows whether there is a next page
		last := log[len(log)-1].Seq
		var more []domain.Event
		if more, err = s.reader.EventsOfType(ctx, execution.ID, domain.CheckpointCreatedType, last, 1, stream.MaxPage); len(more) > 0 {
			page.NextCursor = new(strconv.FormatInt(last, 10))
		}
	}
	return okJSON(page), err
}

// Rollbacks rolls executions back to earlier checkpoints.
type Rollbacks interface {
	History(ctx context.Context, id domain.ExecutionID) (checkpoints.History, error)
	// Preview plans a rollback from the present state of the folders.
	Preview(ctx context.Context, execution domain.Execution, request domain.RollbackRequest) (domain.RollbackPlan, error)
	// Begin requests a rollback and waits for its end, for as long as a request may take. If the rollback is refused, the error is domain.CodeBusy,
	// CodePreviewOutdated or CodeCheckpointElsewhere.
	Begin(ctx context.Context, execution domain.Execution, request domain.RollbackRequest) (domain.Rollback, error)
}

type rollBack struct {
	executionPath
	Body api.RollbackExecution
}

// rollBack previews a rollback, or does the rollback that a preview has shown.
func (s *Server) rollBack(ctx context.Context, request rollBack) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	body := request.Body
	wanted := domain.RollbackRequest{To: body.To, Paths: api.Or(body.Paths, nil), Tree: api.Or(body.Tree, false), Hash: api.Or(body.Hash, ""), By: principalOf(ctx).Actor}
	switch dry := api.Or(body.DryRun, false); {
	case dry && wanted.Hash != "":
		return nil, domain.Invalid("/hash", "A preview has no hash yet.")
	case dry:
		plan, err := s.rollbacks.Preview(ctx, execution, wanted)
		return okJSON(plan), err
	case wanted.Hash == "":
		return nil, domain.Errorf(domain.CodeHashRequired, "Ask for a preview with dryRun first, and name its hash.")
	}
	rollback, err := s.rollbacks.Begin(ctx, execution, wanted)
	if err != nil {
		return nil, err
	}
	if rollback.Ended == nil {
		return acceptedJSON(toRollback(rollback)), nil
	}
	return okJSON(toRollback(rollback)), nil
}

// listRollbacks returns the rollbacks of an execution.
func (s *Server) listRollbacks(ctx context.Context, request executionPath) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.reader.Rollbacks(ctx, execution.ID)
	return okJSON(api.RollbackList{Items: mapped(all, toRollback)}), err
}

func toRollback(r domain.Rollback) api.Rollback {
	return api.Rollback{
		Number: r.Number, State: r.State, To: r.Request.To, Paths: listed(r.Request.Paths), Tree: r.Request.Tree, By: r.Request.By, Result: r.Result, Error: r.Error,
		CreatedAt: api.Time(r.Created), EndedAt: timeOrNull(r.Ended),
	}
}

type getDiff struct {
	executionPath
	From       int    `query:"from"`
	To         int    `query:"to"`
	Turn       int    `query:"turn"`
	ToolCallID string `query:"toolCallId"`
}

// getDiff compares two checkpoints of an execution: the two that the request names, the ones around a turn or a call, or the first and the last one.
func (s *Server) getDiff(ctx context.Context, request getDiff) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if request.Turn > execution.Turn {
		return nil, domain.Invalid("/turn", "There is no turn %d; the last one is %d.", request.Turn, execution.Turn)
	}
	if request.ToolCallID != "" && execution.Request.Source.Type == domain.SourceACP {
		return nil, domain.Invalid("/toolCallId", "The checkpoints of an external agent are taken around its turns, not around its calls. Ask for the turn.")
	}
	history, err := s.rollbacks.History(ctx, execution.ID)
	if err != nil {
		return nil, err
	}
	of, err := request.of(history)
	if err != nil {
		return nil, err
	}
	if request.ToolCallID != "" && of.From.Number == of.To.Number {
		if err := s.hasCall(ctx, execution.ID, request.ToolCallID); err != nil {
			return nil, err
		}
	}
	found, err := s.checkpoints.Diff(ctx, of, s.masker.MaskString)
	if err != nil {
		return nil, err
	}
	return okJSON(toDiff(found)), nil
}

func (r getDiff) of(history checkpoints.History) (checkpoints.Range, error) {
	switch {
	case r.Turn != 0 && r.ToolCallID != "", (r.Turn != 0 || r.ToolCallID != "") && (r.From != 0 || r.To != 0):
		return checkpoints.Range{}, domain.Invalid("/turn", "A diff is of a turn, or of a call, or between two checkpoints.")
	case r.Turn != 0:
		return history.OfTurn(r.Turn)
	case r.ToolCallID != "":
		return history.OfCall(r.ToolCallID)
	default:
		return history.Between(r.From, r.To)
	}
}

// hasCall returns an error for a call that the execution has not requested: an empty diff would say that the call has changed nothing.
func (s *Server) hasCall(ctx context.Context, id domain.ExecutionID, call string) error {
	for after := int64(0); ; {
		log, err := s.reader.EventsOfType(ctx, id, domain.ToolCallRequestedType, after, math.MaxInt32, stream.MaxPage)
		if err != nil {
			return err
		}
		if len(log) == 0 {
			return domain.Invalid("/toolCallId", "There is no call %s in this execution.", call)
		}
		requests, err := domain.PayloadsOf[domain.ToolCallRequested](log)
		if err != nil || slices.ContainsFunc(requests, func(r domain.ToolCallRequested) bool { return r.ToolCallID == call }) {
			return err
		}
		after = log[len(log)-1].Seq
	}
}

func toDiff(found checkpoints.Diff) api.Diff {
	return api.Diff{From: found.From.Number, To: found.To.Number, Folders: mapped(found.Folders, func(folder checkpoints.FolderDiff) api.FolderDiff {
		return api.FolderDiff{
			Path: folder.Path, ChangedPaths: folder.ChangedPaths, Additions: folder.Additions, Deletions: folder.Deletions,
			Files: mapped(folder.Files, toFileDiff),
		}
	})}
}

func toFileDiff(file checkpoints.FileDiff) api.FileDiff {
	return api.FileDiff{
		Path: file.Path, From: textOrNull(file.From), Kind: file.Kind, By: textOrNull(file.By), Additions: file.Additions, Deletions: file.Deletions,
		ModeBefore: textOrNull(file.ModeBefore), ModeAfter: textOrNull(file.ModeAfter), Diff: file.Unified, Omitted: textOrNull(api.FileDiffOmitted(file.Without)),
		Hunks: mapped(file.Hunks, func(h diff.Hunk) api.DiffHunk {
			return api.DiffHunk{
				OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines,
				Lines: mapped(h.Lines, func(line diff.Line) api.DiffLine {
					return api.DiffLine{Op: api.DiffLineOp(line.Op), Text: line.Text, NoNewline: line.NoNewline}
				}),
			}
		}),
	}
}

package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/workspace/folders"
)

// Fetches fetches branches from the clones of executions. If the execution has no clone on this server, the error is domain.CodeConflict.
type Fetches interface {
	// PreviewFetch returns what Fetch would fetch.
	PreviewFetch(ctx context.Context, execution domain.Execution) (folders.Fetch, error)
	// Fetch fetches the branch of a clone into the user's repository. The error is domain.CodePreviewOutdated if the branch has another newest commit, and
	// domain.CodeConflict if the repository has a branch of that name with other commits.
	Fetch(ctx context.Context, execution domain.Execution, commit string, by domain.Actor) (folders.Fetch, error)
}

type fetchWorkspace struct {
	executionPath
	Body api.FetchWorkspace
}

// fetchWorkspace fetches the branch of a clone into the user's repository, or previews the fetch.
func (s *Server) fetchWorkspace(ctx context.Context, request fetchWorkspace) (responder, error) {
	dryRun, commit := api.Or(request.Body.DryRun, false), api.Or(request.Body.Commit, "")
	if dryRun == (commit != "") {
		return nil, domain.Invalid("/commit", "A preview has dryRun: true and no commit; a fetch names the commit that its preview has shown.")
	}
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	if !execution.Status.Terminal() && execution.Status != domain.StatusIdle && execution.Status != domain.StatusInterrupted {
		return nil, domain.Errorf(domain.CodeBusy, "A turn of the execution is running, and the branch may move. Try again when the turn has ended.")
	}
	if dryRun {
		found, err := s.fetches.PreviewFetch(ctx, execution)
		return okJSON(s.toFetch(found, false)), err
	}
	found, err := s.fetches.Fetch(ctx, execution, commit, principalOf(ctx).Actor)
	return okJSON(s.toFetch(found, true)), err
}

func (s *Server) toFetch(found folders.Fetch, fetched bool) api.WorkspaceFetch {
	mask := s.masker.MaskString
	return api.WorkspaceFetch{
		Repository: found.Repository, Branch: found.Branch, Commit: found.Commit, Base: found.Base, Existing: textOrNull(found.Existing), Fetched: fetched,
		CommitCount: found.CommitCount, FileCount: found.FileCount, UncommittedCount: found.UncommittedCount,
		Commits: mapped(found.Commits, func(c folders.Commit) api.FetchedCommit {
			return api.FetchedCommit{Id: c.ID, Author: mask(c.Author), Subject: mask(c.Subject), Time: api.Time(c.Time)}
		}),
		Files: mapped(found.Files, func(f folders.FileStat) api.FetchedFile {
			return api.FetchedFile{Path: mask(f.Path), Additions: f.Additions, Deletions: f.Deletions}
		}),
		Uncommitted: mapped(found.Uncommitted, mask),
	}
}

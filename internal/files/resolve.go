package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

const (
	// readWithin is how long all paths of a prompt may take together, wherever they are. It is checked at each path.
	readWithin = 30 * time.Second
	// readingAtOnce is how many requests read paths at once. Each may have a process.
	readingAtOnce = 8
)

// For is whose prompt the parts are of.
type For struct {
	Tenant    domain.TenantID
	Execution domain.ExecutionID // whose remembered rules hold; empty: it is not created yet
	Request   domain.Request
	Pointer   string // of the parts in the body
}

// Resolve returns the parts as they are kept: each file has an id and is known. A part is domain.CodeInvalid, at its pointer, if there is no such file, if
// the file is not of the part's type, if the policy would ask about reading the path or refuse it, or if the path is outside of the execution's folders.
// If too many requests read paths, it is domain.CodeOverloaded.
func (s *Service) Resolve(ctx context.Context, whose For, parts []domain.PromptPart) ([]domain.PromptPart, error) {
	reader := &reader{service: s, whose: whose}
	defer reader.close()
	resolved := make([]domain.PromptPart, 0, len(parts))
	for i, part := range parts {
		if part.IsFile() {
			var err error
			if part, err = reader.resolve(ctx, fmt.Sprintf("%s/%d", whose.Pointer, i), part); err != nil {
				return nil, err
			}
		}
		resolved = append(resolved, part)
		if err := domain.CheckSize(whose.Pointer, resolved); err != nil {
			return nil, err
		}
	}
	return resolved, nil
}

// reader finds the files of one prompt.
type reader struct {
	service *Service
	whose   For
	folder  Folder // nil: no path has been read
	until   time.Time
	leave   func()
}

func (r *reader) close() {
	if r.folder != nil {
		r.folder.Close()
	}
	if r.leave != nil {
		r.leave()
	}
}

func (r *reader) resolve(ctx context.Context, at string, part domain.PromptPart) (domain.PromptPart, error) {
	if part.FileID != "" {
		file, err := r.service.store.File(ctx, r.whose.Tenant, part.FileID)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return part, domain.Invalid(at+"/fileId", "There is no such file; one that no execution uses is removed after a day.").With(err)
		}
		if err != nil {
			return part, err
		}
		return part.Stored(at, file)
	}
	if err := r.service.mayRead(ctx, r.whose, at+"/path", part.Path); err != nil {
		return part, err
	}
	file, err := r.readPath(ctx, at+"/path", part.Path)
	if err != nil {
		return part, err
	}
	return part.Stored(at, file)
}

// enter waits until the request may read paths.
func (r *reader) enter(ctx context.Context) error {
	if r.leave != nil {
		return nil
	}
	patience := time.NewTimer(waitForRoom)
	defer patience.Stop()
	select {
	case r.service.reading <- struct{}{}:
		r.leave, r.until = func() { <-r.service.reading }, time.Now().Add(readWithin)
		return nil
	case <-patience.C:
		return domain.Errorf(domain.CodeOverloaded, "Too many prompts read files at this moment; try again.")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mayRead asks the policy as if the execution's own agent called the tool read. Nobody can be asked before there is an execution, so a path that the policy
// would ask about is refused.
func (s *Service) mayRead(ctx context.Context, whose For, at, name string) error {
	asked := whose.Request
	asked.Source, asked.Tools, asked.ClientTools = domain.Source{Type: domain.SourceInternal}, domain.ToolSettings{}, nil
	judged, _, err := s.policy.Evaluate(ctx, approvals.Evaluation{
		Tenant: whose.Tenant, Execution: whose.Execution, Request: asked, Tool: "read", Arguments: domain.Encode(map[string]string{"path": name}),
	})
	switch {
	case domain.CodeOf(err) == domain.CodeInvalid:
		return domain.Invalid(at, "%s", domain.FailureOf(err).Message).With(err)
	case err != nil:
		return err
	case judged.Verdict == domain.Allow:
		return nil
	case judged.Verdict == domain.Ask:
		return domain.Invalid(at, "The policy of the execution asks a person before this file is read: %s Upload the file instead.", judged.Reason)
	default:
		return domain.Invalid(at, "The policy of the execution does not let this file be read: %s", judged.Reason)
	}
}

// readPath stores the file as it is now.
func (r *reader) readPath(ctx context.Context, at, name string) (domain.File, error) {
	if err := r.enter(ctx); err != nil {
		return domain.File{}, err
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.until, domain.Invalid(at, "The files of the prompt cannot be read within %d seconds.", int(readWithin.Seconds())))
	defer cancel()
	opened, err := r.open(ctx, name)
	if err != nil {
		return domain.File{}, unreadable(at, err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	switch {
	case err != nil:
		return domain.File{}, unreadable(at, err)
	case !info.Mode().IsRegular():
		return domain.File{}, domain.Invalid(at, "This is no regular file.")
	case info.Size() > domain.MaxFileSize:
		return domain.File{}, domain.Invalid(at, "A file has at most %d bytes; this one has %d.", domain.MaxFileSize, info.Size())
	}
	giveBack, err := r.service.room.take(ctx, r.whose.Tenant, info.Size())
	if err != nil {
		return domain.File{}, err
	}
	defer giveBack()
	content, err := readAll(opened, info.Size())
	if err != nil {
		return domain.File{}, unreadable(at, err)
	}
	file, err := r.service.save(ctx, r.whose.Tenant, path.Base(name), content)
	if code := domain.CodeOf(err); code == domain.CodeUnsupportedMedia || code == domain.CodePayloadTooLarge {
		return file, domain.Invalid(at, "%s", domain.FailureOf(err).Message).With(err)
	}
	return file, err
}

func (r *reader) open(ctx context.Context, name string) (fs.File, error) {
	if r.folder == nil {
		folder, err := r.service.workspace.OpenFiles(ctx, r.whose.Request)
		if err != nil {
			return nil, err
		}
		r.folder = folder
	}
	return r.folder.Open(ctx, name)
}

// unreadable points at the path. Whatever the file system says, the request is to be changed.
func unreadable(at string, err error) error {
	var coded *domain.Error
	switch {
	case errors.As(err, &coded):
		return domain.Invalid(at, "%s", coded.Message).With(err)
	case errors.Is(err, fs.ErrNotExist):
		return domain.Invalid(at, "There is no such file.").With(err)
	case errors.Is(err, fs.ErrPermission):
		return domain.Invalid(at, "The server may not read this file.").With(err)
	default:
		return domain.Invalid(at, "The file cannot be read.").With(err)
	}
}

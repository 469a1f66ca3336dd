package files

import (
	"context"
	"io"
	"io/fs"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// maxUnused bounds the bytes of a tenant's uploads that no execution uses. They are removed after a day; until then, a client that repeats an upload in a
// loop must not fill the disk.
const maxUnused = 1_000_000_000

// Store keeps files. A file of another tenant is domain.CodeNotFound.
type Store interface {
	SaveFile(ctx context.Context, tenant domain.TenantID, file store.NewFile) (domain.File, error)
	File(ctx context.Context, tenant domain.TenantID, id domain.FileID) (domain.File, error)
	ExecutionFile(ctx context.Context, execution domain.ExecutionID, id domain.FileID) (domain.File, []byte, error)
	ExecutionFileInfo(ctx context.Context, execution domain.ExecutionID, id domain.FileID) (domain.File, error)
}

// Policy judges calls without making them.
type Policy interface {
	Evaluate(ctx context.Context, evaluation approvals.Evaluation) (approvals.Judgement, domain.ToolCall, error)
}

// Workspace opens the files that the file tools of an execution with the request see. In some environments that takes a process.
type Workspace interface {
	OpenFiles(ctx context.Context, request domain.Request) (Folder, error)
}

// Folder opens files by their paths, until it is closed.
type Folder interface {
	Open(ctx context.Context, path string) (fs.File, error)
	Close()
}

// Masker replaces the values of secrets in a text.
type Masker interface{ MaskString(text string) string }

// Service takes and gives files.
type Service struct {
	store     Store
	policy    Policy
	workspace Workspace
	masker    Masker
	room      room
	reading   chan struct{} // holds one for each request that reads paths
}

// NewService returns a service.
func NewService(s Store, policy Policy, workspace Workspace, masker Masker) *Service {
	return &Service{store: s, policy: policy, workspace: workspace, masker: masker, reading: make(chan struct{}, readingAtOnce)}
}

// Upload stores the file that a client sends. Size is the length that the client announces; negative: it announces none. A file that no execution uses is
// removed after a while.
//
// Errors: CodePayloadTooLarge, CodeUnsupportedMedia (it is none of the kinds that are taken), CodeMalformed (it is empty), CodeTooMany (too many are unused),
// CodeOverloaded, and those of body.
func (s *Service) Upload(ctx context.Context, tenant domain.TenantID, name string, size int64, body io.Reader) (domain.File, error) {
	if size > domain.MaxFileSize {
		return domain.File{}, tooLarge()
	}
	if size < 0 {
		size = domain.MaxFileSize
	}
	giveBack, err := s.room.take(ctx, tenant, size)
	if err != nil {
		return domain.File{}, err
	}
	defer giveBack()
	content, err := readAll(body, size)
	if err != nil {
		return domain.File{}, err
	}
	if len(content) == 0 {
		return domain.File{}, domain.Errorf(domain.CodeMalformed, "The file is empty.")
	}
	return s.save(ctx, tenant, name, content)
}

func tooLarge() error {
	return domain.Errorf(domain.CodePayloadTooLarge, "A file has at most %d bytes.", domain.MaxFileSize)
}

// readAll reads up to about size bytes, in a buffer that does not grow beyond the room that was taken for it. One byte more is a file that is too large.
func readAll(from io.Reader, size int64) ([]byte, error) {
	content := make([]byte, 0, size+1)
	for {
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > size:
			return nil, tooLarge()
		case err == io.EOF:
			return content, nil
		case err != nil:
			return nil, err
		}
	}
}

// save stores a text without the secrets in it: it becomes a part of what a model is asked, like the text of a prompt.
func (s *Service) save(ctx context.Context, tenant domain.TenantID, name string, content []byte) (domain.File, error) {
	name = domain.FileName(s.masker.MaskString(name))
	mediaType, err := domain.MediaTypeOf(name, content)
	if err != nil {
		return domain.File{}, err
	}
	if domain.IsText(mediaType) {
		content = []byte(s.masker.MaskString(string(content)))
	}
	return s.store.SaveFile(ctx, tenant, store.NewFile{
		ID: domain.NewFileID(approvals.NewID()), Name: name, MediaType: mediaType, Content: content, Room: maxUnused,
	})
}

// Content is a file with its bytes, which are in memory until Close.
type Content struct {
	domain.File
	Bytes []byte
	Close func()
}

// Read returns a file that an execution uses. The caller has read the execution, so that it is one of the tenant.
func (s *Service) Read(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID, id string) (Content, error) {
	known, err := domain.ParseFileID(id)
	if err != nil {
		return Content{}, err
	}
	info, err := s.store.ExecutionFileInfo(ctx, execution, known)
	if err != nil {
		return Content{}, err
	}
	giveBack, err := s.room.take(ctx, tenant, info.Size)
	if err != nil {
		return Content{}, err
	}
	file, content, err := s.store.ExecutionFile(ctx, execution, known)
	if err != nil {
		giveBack()
		return Content{}, err
	}
	return Content{file, content, giveBack}, nil
}

package http

import (
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/files"
	"signoff/internal/http/contract"
	"signoff/internal/http/stream"
)

// Files takes and gives the pictures and documents of prompts.
type Files interface {
	Upload(ctx context.Context, tenant domain.TenantID, name string, size int64, body io.Reader) (domain.File, error)
	// Read returns a file that an execution of the tenant uses.
	Read(ctx context.Context, tenant domain.TenantID, execution domain.ExecutionID, id string) (files.Content, error)
}

type uploadFile struct {
	Name string `query:"name"`
	Body *contract.Raw
}

// uploadFile stores a file for a prompt. It takes no idempotency key: a second upload of the same bytes stores only a name, which is removed if it is not used.
func (s *Server) uploadFile(ctx context.Context, request uploadFile) (responder, error) {
	file, err := s.files.Upload(ctx, principalOf(ctx).Tenant, request.Name, request.Body.Size, request.Body)
	if err != nil {
		return nil, err
	}
	return jsonResponse{status: http.StatusCreated, body: api.File{
		Id: string(file.ID), Name: file.Name, MediaType: file.MediaType, Size: file.Size, Sha256: file.SHA256, CreatedAt: api.Time(file.CreatedAt),
	}}, nil
}

type executionFile struct {
	executionPath
	FileID string `path:"fileId"`
}

// getExecutionFile returns the bytes of a file.
func (s *Server) getExecutionFile(ctx context.Context, request executionFile) (responder, error) {
	execution, err := s.execution(ctx, request.ID)
	if err != nil {
		return nil, err
	}
	content, err := s.files.Read(ctx, execution.Tenant, execution.ID, request.FileID)
	if err != nil {
		return nil, err
	}
	return fileResponse{content, infoOf(ctx).headOnly}, nil
}

// fileResponse is a file for browsers. Whatever is in it, it runs no script from our origin: only pictures are shown there, the browser does not guess the
// type, and the policy forbids everything in a file that it shows all the same.
type fileResponse struct {
	content  files.Content
	headOnly bool
}

func (f fileResponse) respond(w http.ResponseWriter) error {
	defer f.content.Close()
	header, disposition, mediaType := w.Header(), "attachment", f.content.MediaType
	switch {
	case domain.IsPicture(mediaType):
		disposition = "inline"
	case domain.IsText(mediaType):
		mediaType += "; charset=utf-8"
	}
	header.Set("Content-Type", mediaType)
	header.Set("Content-Length", strconv.Itoa(len(f.content.Bytes)))
	header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": cmp.Or(f.content.Name, string(f.content.ID))}))
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	w.WriteHeader(http.StatusOK)
	if f.headOnly {
		return nil
	}
	return writeSlowly(w, f.content.Bytes)
}

// pieceBytes is how many bytes a client must take within the deadline of one write.
const pieceBytes = 256 << 10

// writeSlowly writes piece by piece, each with a deadline of its own: a phone takes longer for 20 MB than the server waits for a whole response.
func writeSlowly(w http.ResponseWriter, content []byte) error {
	out := stream.DeadlineWriter(w)
	for len(content) > 0 {
		n := min(pieceBytes, len(content))
		if _, err := out.Write(content[:n]); err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

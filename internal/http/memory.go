package http

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"signoff/api"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

type getMemory struct {
	Scope domain.MemoryScope `path:"scope"`
}

// getMemory returns notes as JSON, or as the file MEMORY.md.
func (s *Server) getMemory(ctx context.Context, request getMemory) (responder, error) {
	notes, err := s.reader.Memory(ctx, principalOf(ctx).Tenant, request.Scope)
	if err != nil {
		return nil, err
	}
	switch negotiate(infoOf(ctx).accept, typeJSON, typeMarkdown) {
	case typeJSON:
		return okJSON(toMemory(notes)).with("ETag", etag(notes.Revision)), nil
	case typeMarkdown:
		return memoryFile(notes), nil
	default:
		return nil, domain.Errorf(domain.CodeNotAcceptable, "There are application/json and text/markdown.")
	}
}

const typeMarkdown = "text/markdown"

// memoryFile is the response with MEMORY.md.
type memoryFile domain.Memory

func (m memoryFile) respond(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="MEMORY.md"`)
	w.Header().Set("ETag", etag(m.Revision))
	_, err := w.Write([]byte(m.Content))
	return err
}

type putMemory struct {
	Scope   domain.MemoryScope `path:"scope"`
	IfMatch *string            `header:"If-Match"`
	Body    api.PutMemory
}

// putMemory replaces notes whose current revision the client has read.
func (s *Server) putMemory(ctx context.Context, request putMemory) (responder, error) {
	by, scope := principalOf(ctx), request.Scope
	revision, err := ifMatch(request.IfMatch, "notes")
	if err != nil {
		return nil, err
	}
	content := s.masker.MaskString(request.Body.Content)
	record := audit.Memory(scope, revision, len(content), by.Actor, audit.ByAPI)
	notes, err := s.reader.SaveMemory(ctx, by.Tenant, store.MemorySave{
		Scope: scope, Revision: revision, Content: content, By: by.Actor, Record: record,
	})
	if domain.CodeOf(err) == domain.CodeInvalid { // the document limits characters, and the store bytes
		err = domain.At("/content", err)
	}
	return okJSON(toMemory(notes)).with("ETag", etag(notes.Revision)), err
}

func etag(revision int64) string { return fmt.Sprintf(`"%d"`, revision) }

var revisionTag = regexp.MustCompile(`^"([0-9]{1,18})"$`)

// ifMatch returns the revision that the client has read. A client that has read none would overwrite what it does not know.
func ifMatch(header *string, noun string) (int64, error) {
	if header == nil {
		return 0, domain.Errorf(domain.CodeRevisionRequired, "Send If-Match with the ETag of the %s that you replace; GET shows it.", noun)
	}
	match := revisionTag.FindStringSubmatch(*header)
	if match == nil {
		return 0, domain.Invalid("If-Match", "If-Match is an ETag of the %s, a number in quotes.", noun)
	}
	return strconv.ParseInt(match[1], 10, 64)
}

func toMemory(m domain.Memory) api.Memory {
	out := api.Memory{Scope: string(m.Scope), Content: m.Content, Revision: m.Revision}
	if m.Revision > 0 {
		out.UpdatedAt = new(api.Time(m.Updated))
		out.UpdatedBy = &m.By
	}
	return out
}

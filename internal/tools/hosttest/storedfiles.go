package hosttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"signoff/internal/domain"
)

// StoredFile is a file of the execution, with its bytes.
type StoredFile struct {
	domain.File
	Content []byte
}

// ReadFile implements [domain.Host].
func (h *Host) ReadFile(_ context.Context, id domain.FileID) (domain.File, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	file, known := h.Stored[id]
	if !known {
		return domain.File{}, nil, domain.Errorf(domain.CodeNotFound, "There is no such file.")
	}
	return file.File, file.Content, nil
}

// SaveFile implements [domain.Host].
func (h *Host) SaveFile(_ context.Context, name string, content []byte) (domain.File, error) {
	mediaType, err := domain.ResultMediaTypeOf(content)
	if err != nil {
		return domain.File{}, err
	}
	return h.Store(name, mediaType, content), nil
}

// Store adds a file, as a prompt or a tool result brings one.
func (h *Host) Store(name, mediaType string, content []byte) domain.File {
	h.mu.Lock()
	defer h.mu.Unlock()
	hash := sha256.Sum256(content)
	file := domain.File{
		ID:   domain.NewFileID(fmt.Sprintf("00000000-0000-7000-8000-%012d", len(h.Stored)+1)),
		Name: domain.FileName(name), MediaType: mediaType, Size: int64(len(content)), SHA256: hex.EncodeToString(hash[:]),
	}
	if h.Stored == nil {
		h.Stored = map[domain.FileID]StoredFile{}
	}
	h.Stored[file.ID] = StoredFile{file, content}
	return file
}

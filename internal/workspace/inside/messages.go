package inside

import (
	"io/fs"
	"time"

	"signoff/internal/domain"
)

// request is one of the fields that is set.
type request struct {
	Open   string              // a file, for reading
	Read   *reading            // of an opened file
	Close  int                 // a handle
	List   string              // a folder
	Change []domain.FileChange // files
	Still  *refusal            // to the question of a change
}

type reading struct {
	Handle int
	Offset int64
	Length int
}

// refusal is an error on its way; without a code it is none.
type refusal struct {
	Code    domain.Code // empty: it may go on
	Message string
}

// response is the answer to a request.
type response struct {
	Failure *refusal
	Handle  int
	Info    entry
	Data    []byte
	End     bool // of the file
	Entries []entry
	Ask     bool // of a change: may the next file be changed?
}

const (
	maxRead    = 1 << 20 // bytes of one reading
	maxHandles = 256
)

// entry describes a file or folder. It is its own fs.FileInfo and fs.DirEntry.
type entry struct {
	Base     string
	Bytes    int64
	FileMode fs.FileMode
	Changed  time.Time
}

func (e entry) Name() string               { return e.Base }
func (e entry) Size() int64                { return e.Bytes }
func (e entry) Mode() fs.FileMode          { return e.FileMode }
func (e entry) ModTime() time.Time         { return e.Changed }
func (e entry) IsDir() bool                { return e.FileMode.IsDir() }
func (e entry) Sys() any                   { return nil }
func (e entry) Type() fs.FileMode          { return e.FileMode.Type() }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

func entryOf(info fs.FileInfo) entry {
	return entry{Base: info.Name(), Bytes: info.Size(), FileMode: info.Mode(), Changed: info.ModTime()}
}

func failed(err error) *refusal {
	failure := domain.FailureOf(err)
	return &refusal{Code: failure.Code, Message: failure.Message}
}

func (a *refusal) err() error {
	if a == nil || a.Code == "" {
		return nil
	}
	return domain.Errorf(a.Code, "%s", a.Message)
}

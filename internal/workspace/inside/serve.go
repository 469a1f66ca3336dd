package inside

import (
	"encoding/gob"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
	"signoff/internal/workspace"
)

// Serve answers requests until in ends. Relative paths are below directory; guards are files that no change touches.
func Serve(in io.Reader, out io.Writer, directory string, guards workspace.Guards) error {
	files, err := workspace.New("/")
	if err != nil {
		return err
	}
	files.Guard(guards)
	s := &server{in: gob.NewDecoder(in), out: gob.NewEncoder(out), directory: directory, files: files, open: map[int]*os.File{}}
	defer s.close()
	for {
		var next request
		if err := s.in.Decode(&next); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.out.Encode(s.answer(next)); err != nil {
			return err
		}
	}
}

// server has one request at a time.
type server struct {
	in        *gob.Decoder
	out       *gob.Encoder
	directory string
	files     *workspace.Workspace
	open      map[int]*os.File
	last      int // handle
}

func (s *server) answer(r request) response {
	var answer response
	var err error
	switch {
	case r.Open != "":
		answer, err = s.openFile(r.Open)
	case r.Read != nil:
		answer, err = s.read(*r.Read)
	case r.Close != 0:
		if file := s.open[r.Close]; file != nil {
			delete(s.open, r.Close)
			err = file.Close()
		}
	case r.List != "":
		answer.Entries, err = s.list(r.List)
	case r.Change != nil:
		err = s.change(r.Change)
	}
	if err != nil {
		return response{Failure: failed(err)}
	}
	return answer
}

func (s *server) openFile(path string) (response, error) {
	if len(s.open) >= maxHandles {
		return response{}, domain.Errorf(domain.CodeToolFailed, "More than %d files are open at once.", maxHandles)
	}
	file, err := os.OpenFile(s.absolute(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return response{}, notOpened(path, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = domain.Errorf(domain.CodeToolFailed, "%s is not a regular file.", path)
	case s.files.Kernel(info):
		err = domain.Errorf(domain.CodePathOutsideWorkspace, "%s is a file of the kernel, and not read here.", path)
	}
	if err != nil {
		file.Close()
		return response{}, err
	}
	s.last++
	s.open[s.last] = file
	return response{Handle: s.last, Info: entryOf(info)}, nil
}

func (s *server) read(r reading) (response, error) {
	file := s.open[r.Handle]
	if file == nil || r.Length < 0 || r.Offset < 0 {
		return response{}, domain.Errorf(domain.CodeToolFailed, "The file is not open.")
	}
	buffer := make([]byte, min(r.Length, maxRead))
	n, err := file.ReadAt(buffer, r.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return response{}, domain.Errorf(domain.CodeToolFailed, "The file cannot be read.").With(err)
	}
	return response{Data: buffer[:n], End: err != nil}, nil
}

func (s *server) list(path string) ([]entry, error) {
	folder := s.absolute(path)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return nil, notOpened(path, err)
	case !info.IsDir():
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is not a folder.", path)
	case s.files.Kernel(info):
		return nil, domain.Errorf(domain.CodePathOutsideWorkspace, "%s is a folder of the kernel, and not read here.", path)
	}
	opened, err := os.Open(folder)
	if err != nil {
		return nil, notOpened(path, err)
	}
	defer opened.Close()
	found, err := opened.ReadDir(workspace.MaxEntries + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, notOpened(path, err)
	case len(found) > workspace.MaxEntries:
		return nil, domain.Errorf(domain.CodeToolFailed, "%s has more than %d entries.", path, workspace.MaxEntries)
	}
	entries := make([]entry, 0, len(found))
	for _, one := range found {
		if info, err := one.Info(); err == nil { // it may be gone
			entries = append(entries, entryOf(info))
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Base, b.Base) })
	return entries, nil
}

// change makes changes by their true names: links are followed here, as a command follows them, and nowhere later.
func (s *server) change(changes []domain.FileChange) error {
	for i := range changes {
		changes[i].Path = trueName(s.absolute(changes[i].Path))
	}
	return s.files.Change("/", changes, func() error {
		if err := s.out.Encode(response{Ask: true}); err != nil {
			return err
		}
		var next request
		if err := s.in.Decode(&next); err != nil {
			return err
		}
		return next.Still.err()
	})
}

func (s *server) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.directory, path)
}

// trueName follows the links of a path as far as it exists, but not one at its end: a change replaces names.
func trueName(path string) string {
	folder, rest := filepath.Dir(path), filepath.Base(path)
	for {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			return filepath.Join(real, rest)
		}
		folder, rest = filepath.Dir(folder), filepath.Join(filepath.Base(folder), rest)
	}
}

func (s *server) close() {
	for _, file := range s.open {
		file.Close()
	}
}

// notOpened says what a command would say, and that the file may exist outside.
func notOpened(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return domain.Errorf(domain.CodeToolFailed, "%s is not there, or not visible in this environment.", path).With(err)
	case errors.Is(err, fs.ErrPermission):
		return domain.Errorf(domain.CodeToolFailed, "%s may not be read in this environment.", path).With(err)
	default:
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be opened.", path).With(err)
	}
}

package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"signoff/internal/domain"
)

const (
	maxTextBytes  = 1 << 20 // of a text that the model writes
	maxEditBytes  = 4 << 20 // of a file that is changed in part
	maxWalked     = 50_000  // entries that one call looks at
	maxGlobBytes  = 200
	maxGlobBraces = 2
	maxGlobStars  = 4 // pairs of them
)

// readWhole reads a text file as a whole, so that it can be changed in part.
func readWhole(ctx context.Context, host domain.Host, path string) (string, error) {
	content, err := readBytes(ctx, host, path, maxEditBytes)
	switch {
	case errors.Is(err, errTooLong):
		return "", domain.Errorf(domain.CodeToolFailed, "%s is longer than %d MiB; change it with a command.", visible(path), maxEditBytes>>20)
	case err != nil:
		return "", err
	case binary(content):
		return "", domain.Errorf(domain.CodeToolFailed, "%s is a binary file; change it with a command.", visible(path))
	case !utf8.Valid(content):
		return "", notUTF8(path)
	}
	return string(content), nil
}

var errTooLong = errors.New("the file is longer than the limit")

// readBytes reads a file of at most limit bytes; a longer one is errTooLong, and not read.
func readBytes(ctx context.Context, host domain.Host, path string, limit int64) ([]byte, error) {
	file, err := host.OpenFile(ctx, path)
	if err != nil {
		return nil, openError(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, unreadable(err)
	case info.IsDir():
		return nil, domain.Errorf(domain.CodeToolFailed, "%s is a folder, not a file.", visible(path))
	case info.Size() > limit:
		return nil, errTooLong
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1)) // it may have grown
	if err != nil {
		return nil, unreadable(err)
	}
	if int64(len(content)) > limit {
		return nil, errTooLong
	}
	return content, nil
}

// byteOrderMark begins texts that were written on Windows. It is no part of the first line.
var byteOrderMark = []byte("\uFEFF")

func binary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), sniffBytes)], 0) >= 0
}

// glob is a pattern for paths; the empty one fits all. Without a slash it is about names, wherever they are.
type glob string

// glob reads an optional pattern. Alternatives and double stars multiply the ways in which one name can be tried, so few
// of them are allowed.
func (f *fields) glob(name string) glob {
	pattern := f.optionalText(name, maxGlobBytes)
	switch {
	case !doublestar.ValidatePattern(pattern):
		f.wrong("The field %q is no glob pattern. Examples: *.go, src/**/*.{ts,tsx}.", name)
	case strings.Count(pattern, "{") > maxGlobBraces || strings.Count(pattern, "**") > maxGlobStars:
		f.wrong("The field %q may have at most %d braces and %d double stars.", name, maxGlobBraces, maxGlobStars)
	}
	pattern = strings.TrimPrefix(pattern, "./")
	switch { // of what would silently match nothing
	case strings.HasPrefix(pattern, "/"):
		f.wrong("The field %q begins with a slash, but it is about paths below %q: leave the slash out.", name, "path")
	case strings.HasSuffix(pattern, "/"):
		f.wrong("The field %q ends with a slash, so it fits no file: for all that is in a folder, write %s**.", name, pattern)
	}
	return glob(pattern)
}

// fits takes the path below the folder that is walked.
func (g glob) fits(below string) bool {
	if !strings.Contains(string(g), "/") {
		below = path.Base(below)
	}
	return g == "" || doublestar.MatchUnvalidated(string(g), below)
}

// walk goes through a folder and what is below it, sorted by name, each folder before what is in it. Links are seen and
// never followed. What git and package managers keep is gone into only where the walk begins in it: it is seldom meant, and
// larger than all the rest.
type walk struct {
	host  domain.Host
	depth int // how many levels; 1 is the folder alone

	err     error // the folder that it begins with could not be read, or the context is over
	seen    int
	unread  int  // folders that could not be read
	skipped bool // there was something that is not gone into
}

// entries yields paths below root.
func (w *walk) entries(ctx context.Context, root string) iter.Seq2[string, fs.DirEntry] {
	return func(yield func(string, fs.DirEntry) bool) {
		entries, err := w.host.ReadDir(ctx, root)
		if err != nil {
			w.err = folderError(err)
			return
		}
		w.visit(ctx, root, "", entries, yield)
	}
}

func (w *walk) visit(ctx context.Context, root, below string, entries []fs.DirEntry, yield func(string, fs.DirEntry) bool) bool {
	for _, entry := range entries {
		if w.err = ctx.Err(); w.err != nil {
			w.err = domain.Errorf(domain.CodeCancelled, "The walk was cancelled.").With(w.err)
			return false
		}
		if w.seen++; w.seen > maxWalked {
			return false
		}
		name := path.Join(below, entry.Name())
		if !yield(name, entry) {
			return false
		}
		if entry.IsDir() && !w.descend(ctx, root, name, yield) {
			return false
		}
	}
	return true
}

func (w *walk) descend(ctx context.Context, root, below string, yield func(string, fs.DirEntry) bool) bool {
	if strings.Count(below, "/")+2 > w.depth {
		return true
	}
	if name := path.Base(below); name == ".git" || name == "node_modules" {
		w.skipped = true
		return true
	}
	entries, err := w.host.ReadDir(ctx, path.Join(root, below))
	if err != nil {
		w.unread++
		return true
	}
	return w.visit(ctx, root, below, entries, yield)
}

// stopped reports whether there was more than one call looks at.
func (w *walk) stopped() bool { return w.seen > maxWalked }

func folderError(err error) error {
	var coded *domain.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, fs.ErrNotExist):
		return domain.Errorf(domain.CodeToolFailed, "There is no such folder.").With(err)
	default:
		return domain.Errorf(domain.CodeToolFailed, "The folder cannot be read.").With(err)
	}
}

// optionalPath is a path that may be left out: the working directory.
func (f *fields) optionalPath(name string) string {
	return cmp.Or(f.optionalText(name, maxPathBytes), ".")
}

// body reads a text that must be there, and may be empty or blank.
func (f *fields) body(name string) (value string) {
	raw, given := f.given(name)
	err := json.Unmarshal(raw, &value)
	switch {
	case !given || err != nil:
		f.wrong("The field %q must be a string; it may be empty.", name)
	case strings.ContainsRune(value, 0):
		f.wrong("The field %q contains a NUL character.", name)
	case len(value) > maxTextBytes:
		f.wrong("The field %q has %d bytes; at most %d are allowed.", name, len(value), maxTextBytes)
	}
	return value
}

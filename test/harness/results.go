package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Results is a file with a line of JSON for each result of a campaign. A campaign that was interrupted goes on from the results in it.
// It belongs to one goroutine.
type Results[T any] struct{ file *os.File }

// OpenResults opens the file at path, or makes it, and returns what it holds. A line that cannot be read is passed over: it is the last one of a
// campaign that was killed.
func OpenResults[T any](path string) (results *Results[T], all []T, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var result T
		if json.Unmarshal(lines.Bytes(), &result) == nil {
			all = append(all, result)
		}
	}
	if err := errors.Join(lines.Err(), endLine(file)); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &Results[T]{file}, all, nil
}

// endLine ends the last line, or the next result would be lost with it.
func endLine(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, size-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = file.WriteString("\n")
	return err
}

// Add appends a result. It is on disk when Add returns.
func (r *Results[T]) Add(result T) error {
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return r.file.Sync()
}

// Close closes the file.
func (r *Results[T]) Close() error { return r.file.Close() }

// Commit names the commit that is checked out; empty: nobody knows it. The tree is clean where it is that of the commit.
func Commit() (name string, clean bool) {
	head, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	return strings.TrimSpace(string(head)), err == nil && len(changed) == 0
}

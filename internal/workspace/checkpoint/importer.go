package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The entries of the tree of a commit.
const (
	filesFolder  = "files/"
	manifestFile = "manifest"
)

// importer writes one commit through git-fast-import(1). Its process starts with the first entry.
type importer struct {
	ctx    context.Context
	series *Series
	pipe   *io.PipeWriter
	text   *bufio.Writer
	done   chan struct{}
	out    []byte
	err    error
	grown  int64 // bytes of contents that the store has not counted yet
}

// imported is a commit, and what it changes.
type imported struct {
	id      string // empty: nothing was to be written
	tree    string // its root
	reused  bool   // another series had written it
	changes []Change
}

// importScript imports a commit under a ref, and compares it with the one before, in one start of the isolation. A call may wait for the checkpoint, so git
// uses its fastest compression, and no deltas. A pruning makes the deltas later.
const importScript = `git -c core.compression=1 fast-import --depth=0 --quiet --done --date-format=raw --force && printf '\0' && ` +
	`if [ -z "$1" ]; then exit; fi && ` + compareScript

func (i *importer) begun() bool { return i.pipe != nil }

// begin starts git, and writes the head of the commit.
func (i *importer) begin() error {
	if i.begun() {
		return nil
	}
	if err := i.series.repository.room(); err != nil {
		return err
	}
	if err := i.series.repository.unlockRef(i.series.ref); err != nil {
		return err
	}
	reading, writing := io.Pipe()
	i.pipe, i.text, i.done = writing, bufio.NewWriterSize(writing, 64<<10), make(chan struct{})
	go func() {
		defer close(i.done)
		i.out, i.err = i.series.repository.run(i.ctx, reading, "", "sh", "-c", importScript, "sh", i.series.last, i.series.ref)
		reading.CloseWithError(errors.Join(i.err, io.ErrClosedPipe)) // who still writes need not wait for a reader
	}()
	// The nanoseconds make each commit another one. Two imports of the same objects in one second would make packs of one name, and git refuses the second.
	now := time.Now()
	if _, err := fmt.Fprintf(i.text, "feature done\ncommit %s\nmark :1\ncommitter Signoff <%d@localhost> %d +0000\ndata 0\n",
		i.series.ref, now.UnixNano(), now.Unix()); err != nil {
		return err
	}
	switch {
	case i.series.last != "":
		_, err := fmt.Fprintf(i.text, "from %s\n", i.series.last)
		return err
	case i.series.base != "":
		_, err := fmt.Fprintf(i.text, "M %s %s \"\"\n", gitFolder, i.series.base)
		return err
	}
	return nil
}

// roomEvery is the number of bytes after which an import asks again whether there is room.
const roomEvery = 64 << 20

// makeRoom begins the commit, and returns an error if there is no room for a content.
func (i *importer) makeRoom(size int64) error {
	if err := i.begin(); err != nil {
		return err
	}
	if i.grown += size; i.grown < roomEvery {
		return nil
	}
	i.account()
	return i.series.repository.room()
}

func (i *importer) account() {
	i.series.repository.grew(i.grown)
	i.grown = 0
}

// file writes a content below files/.
func (i *importer) file(path string, mode gitMode, content []byte) error {
	return i.entry(filesFolder+path, mode, content)
}

func (i *importer) entry(path string, mode gitMode, content []byte) error {
	if err := i.makeRoom(int64(len(content))); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(i.text, "M %s inline %s\ndata %d\n", mode, quoted(path), len(content)); err != nil {
		return err
	}
	if _, err := i.text.Write(content); err != nil {
		return err
	}
	return i.text.WriteByte('\n')
}

// stream writes a content of that size. Where the reader has less, zeros follow, for git waits for that many bytes.
func (i *importer) stream(path string, mode gitMode, size int64, content io.Reader) error {
	if err := i.makeRoom(size); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(i.text, "M %s inline %s\ndata %d\n", mode, quoted(filesFolder+path), size); err != nil {
		return err
	}
	n, readErr := io.Copy(i.text, io.LimitReader(content, size))
	if _, err := io.CopyN(i.text, zeros{}, size-n); err != nil {
		return err
	}
	return errors.Join(i.text.WriteByte('\n'), readErr)
}

// zeros is an endless reader of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// remove takes a path out of the tree.
func (i *importer) remove(path string) error {
	if err := i.begin(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(i.text, "D %s\n", quoted(filesFolder+path))
	return err
}

// quoted is a path as git-fast-import(1) reads every path: in double quotes, as in C.
func quoted(path string) string { return `"` + quoting.Replace(path) + `"` }

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// finish ends the commit, or gives it up where err is one. It returns when git has ended.
func (i *importer) finish(err error) (imported, error) {
	if !i.begun() {
		return imported{}, err
	}
	if err == nil {
		_, err = i.text.WriteString("get-mark :1\nls :1 \"\"\ndone\n")
	}
	if err == nil {
		err = i.text.Flush()
	}
	if err == nil {
		err = i.pipe.Close()
	} else {
		i.pipe.CloseWithError(err) // without its "done", git writes no commit
	}
	<-i.done
	i.account()
	if err := errors.Join(i.err, err); err != nil {
		return imported{}, err
	}
	head, changes, whole := strings.Cut(string(i.out), "\x00")
	fields := strings.Fields(head) // the commit, and "040000 tree ID"
	if !whole || len(fields) != 4 || !isObject(fields[0]) || !isObject(fields[3]) {
		return imported{}, fmt.Errorf("checkpoint: git answered %.200q", head)
	}
	list, err := readChanges(changes)
	return imported{id: fields[0], tree: fields[3], changes: list}, err
}

func isObject(id string) bool { return len(id) == 64 && strings.Trim(id, "0123456789abcdef") == "" }

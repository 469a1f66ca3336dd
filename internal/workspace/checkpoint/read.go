package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// listing reads a checkpoint back.
func (r *Repository) listing(ctx context.Context, id string) (*listing, error) {
	if !isObject(id) {
		return nil, fmt.Errorf("checkpoint: %.80q is no id", id)
	}
	out, err := r.run(ctx, nil, "", "sh", "-c", listingScript, "sh", id)
	if err != nil {
		return nil, err
	}
	tree, manifest, whole := bytes.Cut(out, []byte("\x00\x00"))
	if !whole {
		return nil, errManifest
	}
	return readListing(tree, manifest)
}

// listingScript prints the tree, whose records end with a zero byte, another zero byte, and the manifest. It needs only one start of the isolation.
const listingScript = `git ls-tree -r -z --full-tree "$1" && printf '\0' && exec git cat-file blob "$1:` + manifestFile + `"`

// Has reports whether the repository has a checkpoint.
func (r *Repository) Has(ctx context.Context, id string) (bool, error) {
	if !isObject(id) {
		return false, nil
	}
	_, err := r.run(ctx, nil, "", "git", "cat-file", "-e", id+"^{commit}")
	if exit := (*ExitError)(nil); errors.As(err, &exit) && exit.Code <= 128 { // above, a signal has ended git
		return false, nil
	}
	return err == nil, err
}

// NotCovered lists the paths that a checkpoint does not have.
func (r *Repository) NotCovered(ctx context.Context, id string) ([]NotCovered, error) {
	l, err := r.listing(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.notCovered, nil
}

// Last returns the id of the last checkpoint of the series with a name; empty: the repository has none.
func (r *Repository) Last(ctx context.Context, name string) (id string, err error) {
	out, err := r.run(ctx, nil, "", "git", "for-each-ref", "--format=%(objectname)", seriesRefs+name)
	return strings.TrimSpace(string(out)), err
}

// Contents calls each with the content of each object, in their order. The content is valid until each returns.
func (r *Repository) Contents(ctx context.Context, objects []string, each func(object string, size int64, content io.Reader) error) error {
	for _, object := range objects {
		if !isObject(object) {
			return fmt.Errorf("checkpoint: %.80q is no id", object)
		}
	}
	return r.batch(ctx, objects, each)
}

// batch is Contents for names that git resolves.
func (r *Repository) batch(ctx context.Context, names []string, each func(object string, size int64, content io.Reader) error) error {
	if len(names) == 0 {
		return nil
	}
	caller := ctx
	ctx, stop := context.WithCancelCause(caller)
	defer stop(nil)
	reading, writing := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := r.runner.Run(ctx, r.command("", "git", "cat-file", "--batch"),
			strings.NewReader(strings.Join(names, "\n")+"\n"), writing)
		writing.CloseWithError(err)
		done <- err
	}()
	err := readBatch(bufio.NewReaderSize(reading, 64<<10), names, each)
	if err != nil {
		stop(err)
	}
	reading.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	return errors.Join(context.Cause(caller), err, <-done) // a caller that has stopped has killed git
}

// readBatch reads what `git cat-file --batch` prints: "ID TYPE SIZE", the content, a line feed.
func readBatch(in *bufio.Reader, names []string, each func(object string, size int64, content io.Reader) error) error {
	for _, name := range names {
		head, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != name && isObject(name) || fields[1] != "blob" {
			return fmt.Errorf("checkpoint: git answered %.100q for %s", head, name)
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		content := io.LimitReader(in, size)
		if err := each(fields[0], size, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if end, err := in.ReadByte(); err != nil || end != '\n' {
			return errors.Join(err, errors.New("checkpoint: git's answer has no end"))
		}
	}
	return nil
}

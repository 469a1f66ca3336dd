package checkpoint

import (
	"bufio"
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
	tree, err := r.run(ctx, nil, "", "git", "ls-tree", "-r", "-z", "--full-tree", id)
	if err != nil {
		return nil, err
	}
	manifest, err := r.run(ctx, nil, "", "git", "cat-file", "blob", id+":"+manifestFile)
	if err != nil {
		return nil, err
	}
	return readListing(tree, manifest)
}

// Contents calls each with the content of each object, in their order. The content is valid until each returns.
func (r *Repository) Contents(ctx context.Context, objects []string, each func(object string, size int64, content io.Reader) error) error {
	if len(objects) == 0 {
		return nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	reading, writing := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := r.runner.Run(ctx, r.command("", "git", "cat-file", "--batch"),
			strings.NewReader(strings.Join(objects, "\n")+"\n"), writing)
		writing.CloseWithError(err)
		done <- err
	}()
	err := readBatch(bufio.NewReaderSize(reading, 64<<10), objects, each)
	if err != nil {
		stop(err)
	}
	reading.CloseWithError(errors.Join(err, io.ErrClosedPipe))
	return errors.Join(err, <-done)
}

// readBatch reads what `git cat-file --batch` prints: "ID TYPE SIZE", the content, a line feed.
func readBatch(in *bufio.Reader, objects []string, each func(object string, size int64, content io.Reader) error) error {
	for _, object := range objects {
		head, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != object || fields[1] != "blob" {
			return fmt.Errorf("checkpoint: git answered %.100q for %s", head, object)
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		content := io.LimitReader(in, size)
		if err := each(object, size, content); err != nil {
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

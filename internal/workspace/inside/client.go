package inside

import (
	"context"
	"encoding/gob"
	"io"
	"io/fs"

	"signoff/internal/domain"
)

// Client speaks to a [Serve]. Its methods may be called by any number of goroutines at once; they take turns.
type Client struct {
	turn chan struct{} // holds one token; whoever has it speaks
	in   *gob.Encoder
	out  *gob.Decoder
	stop func() // ends the process: an answer that does not come must not hold up the next request
}

// NewClient speaks to a process over its streams. stop ends the process; it may be called more than once.
func NewClient(stdin io.Writer, stdout io.Reader, stop func()) *Client {
	c := &Client{turn: make(chan struct{}, 1), in: gob.NewEncoder(stdin), out: gob.NewDecoder(stdout), stop: stop}
	c.turn <- struct{}{}
	return c
}

// Open opens a regular file for reading.
func (c *Client) Open(ctx context.Context, path string) (fs.File, error) {
	answer, err := c.ask(ctx, request{Open: path}, nil)
	if err != nil {
		return nil, err
	}
	return &file{client: c, ctx: ctx, handle: answer.Handle, info: answer.Info}, nil
}

// List reads a folder, sorted by name.
func (c *Client) List(ctx context.Context, path string) ([]fs.DirEntry, error) {
	answer, err := c.ask(ctx, request{List: path}, nil)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(answer.Entries))
	for i, one := range answer.Entries {
		entries[i] = one
	}
	return entries, nil
}

// Change makes all of the changes or none. Before each file it asks still, whose error undoes them.
func (c *Client) Change(ctx context.Context, changes []domain.FileChange, still func() error) error {
	_, err := c.ask(ctx, request{Change: append([]domain.FileChange{}, changes...)}, still)
	return err
}

// ask sends a request and waits for its answer. The end of ctx ends the process.
func (c *Client) ask(ctx context.Context, r request, still func() error) (response, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return response{}, context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	defer context.AfterFunc(ctx, c.stop)()
	for {
		var answer response
		err := c.in.Encode(r)
		if err == nil {
			err = c.out.Decode(&answer)
		}
		switch {
		case ctx.Err() != nil:
			return response{}, context.Cause(ctx)
		case err != nil:
			c.stop()
			return response{}, domain.Errorf(domain.CodeToolFailed, "The process that reads files in this environment has ended.").With(err)
		case answer.Failure != nil:
			return response{}, answer.Failure.err()
		case !answer.Ask:
			return answer, nil
		}
		r = request{Still: new(refusal)}
		if err := still(); err != nil {
			r.Still = failed(err)
		}
	}
}

// file reads a file of the other side.
type file struct {
	client *Client
	ctx    context.Context //nolint:containedctx // fs.File has no other place for the life of a tool call
	handle int
	info   entry
	offset int64
	end    bool
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *file) Read(buffer []byte) (int, error) {
	if f.end {
		return 0, io.EOF
	}
	n, err := f.ReadAt(buffer, f.offset)
	f.offset += int64(n)
	if err == io.EOF { //nolint:errorlint // ours
		f.end = true
		if n > 0 {
			err = nil
		}
	}
	return n, err
}

// ReadAt implements io.ReaderAt for at most a megabyte; a longer reading is a short one without an error.
func (f *file) ReadAt(buffer []byte, offset int64) (int, error) {
	if len(buffer) == 0 {
		return 0, nil
	}
	answer, err := f.client.ask(f.ctx, request{Read: &reading{Handle: f.handle, Offset: offset, Length: min(len(buffer), maxRead)}}, nil)
	if err != nil {
		return 0, err
	}
	n := copy(buffer, answer.Data)
	if answer.End {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Close() error {
	_, err := f.client.ask(context.WithoutCancel(f.ctx), request{Close: f.handle}, nil)
	return err
}

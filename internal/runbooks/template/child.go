package template

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"syscall"

	"signoff/internal/runbooks/template/jinja"
)

// renderArg is the hidden first argument of a child.
const renderArg = "__render"

// Intercept is the hidden entry point of the children: main calls it first, and so does TestMain of a test binary that
// renders. It returns at once in a process that was not started as one, and never in one that was. A child leaves without
// the runtime's farewell, for which a binary built with the race detector takes a second.
func Intercept() {
	if len(os.Args) == 2 && os.Args[1] == renderArg {
		syscall.Exit(child(os.Stdin, os.Stdout))
	}
}

// order is what a child is to do, and report what it did. Both are JSON.
type order struct {
	Sources   []string        `json:"sources"`
	Variables json.RawMessage `json:"variables,omitempty"`
}

type report struct {
	Rendered []Rendered `json:"rendered"`
	Fault    *fault     `json:"fault,omitempty"`
}

// fault is why one of the sources cannot be rendered; those before it could.
type fault struct {
	Index   int    `json:"index"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// maxStack is far above what any template needs that is not meant to fill it.
const maxStack = 64 << 20

// child is the work of a child process and returns its exit code. It takes its limits before it reads the first byte.
func child(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	if err := confine(); err != nil {
		return 1
	}
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return 1
	}
	if err := json.NewEncoder(out).Encode(o.carryOut()); err != nil {
		return 1
	}
	return 0
}

func (o order) carryOut() report {
	r, left := report{Rendered: []Rendered{}}, MaxText
	for i, source := range o.Sources {
		text, usage, err := jinja.Render(source, o.Variables, left)
		if err != nil {
			r.Fault = &fault{Index: i, Message: "the template cannot be run"}
			var known *jinja.FaultError
			if errors.As(err, &known) {
				r.Fault.Line, r.Fault.Message = known.Line, known.Message
			}
			return r
		}
		left -= len(text)
		r.Rendered = append(r.Rendered, Rendered{Text: text, Usage: usage})
	}
	return r
}

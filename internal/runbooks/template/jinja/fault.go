package jinja

import (
	"errors"
	"fmt"
)

// FaultError says why a template cannot be rendered. It quotes the template and never a value of a variable.
//
// Inside the package a fault is thrown as a panic and caught by [Render] and [Inspect]: every operation can fail, and
// none has anything to do after that.
type FaultError struct {
	Line    int    // 1, 2, … or 0 where no line is to blame
	Message string // no capital, no full stop: a part of a sentence
}

func (f *FaultError) Error() string {
	if f.Line == 0 {
		return f.Message
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Message)
}

// failf throws a fault; [catch] adds the line.
func failf(format string, args ...any) {
	panic(&FaultError{Message: fmt.Sprintf(format, args...)})
}

// ErrBusy is a render that needs more memory than [Budget.Borrow] grants at the moment.
var ErrBusy = errors.New("no memory is left for templates at the moment")

// stopped is a render that ends for a reason outside the template: its context is done, or [ErrBusy].
type stopped struct{ cause error }

// catch turns a thrown fault into an error. Any other panic is a mistake of this package, and is not caught here.
func catch(line *int, err *error) {
	switch thrown := recover().(type) {
	case nil:
	case *FaultError:
		if thrown.Line == 0 {
			thrown.Line = *line
		}
		*err = thrown
	case stopped:
		*err = thrown.cause
	default:
		panic(thrown)
	}
}

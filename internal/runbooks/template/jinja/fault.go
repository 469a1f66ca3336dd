package jinja

import "fmt"

// FaultError is why a template cannot be rendered. It names what the template says and never what the variables hold.
//
// Inside the package a fault is thrown as a panic and caught by [Render] and [Inspect]: gonja turns the errors of filters
// into sentences of its own, in which it quotes values, but lets a panic pass.
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

// failf throws a fault; whoever knows the line adds it.
func failf(format string, args ...any) {
	panic(&FaultError{Message: fmt.Sprintf(format, args...)})
}

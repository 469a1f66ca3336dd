package main

import (
	"errors"
	"fmt"
	"io"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// diagnosis prints findings and remembers whether one is bad.
type diagnosis struct {
	out    io.Writer
	masker *secrets.Masker
	broken bool
}

func (d *diagnosis) good(what, detail string) { d.print("ok", what, detail) }

func (d *diagnosis) note(what, detail string) { d.print("-", what, detail) }

func (d *diagnosis) bad(what string, err error) {
	d.broken = true
	detail := err.Error()
	var coded *domain.Error
	if errors.As(err, &coded) {
		detail = sentence(coded)
	}
	d.print("FAIL", what, detail)
}

// print masks every line: the version of a program is foreign text, too.
func (d *diagnosis) print(mark, what, detail string) {
	fmt.Fprintf(d.out, "%-5s %-22s %s\n", mark, what, d.masker.MaskString(detail))
}

package program

import (
	"signoff/internal/sandbox/stdio"
	"signoff/internal/secrets"
)

// program is a running program. It implements [mcp.Program].
type program struct {
	*stdio.Program
	masks []*secrets.Masker
}

// Read implements [io.Reader]: it is the program's standard output.
func (p *program) Read(into []byte) (int, error) { return p.Stdout.Read(into) }

// Write implements [io.Writer]: it is the program's standard input.
func (p *program) Write(text []byte) (int, error) { return p.Stdin.Write(text) }

// Close implements [mcp.Program].
func (p *program) Close() error {
	err := p.End()
	_ = p.Stdout.Close() // what nobody reads any more
	p.Drain()
	return err
}

// Failure implements [mcp.Program].
func (p *program) Failure() error { return p.ExitError(p.masked) }

func (p *program) masked(text []byte) []byte {
	for _, masker := range p.masks {
		text = masker.Mask(text)
	}
	return text
}

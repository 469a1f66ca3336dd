package shell

import "strings"

// awk judges options and program of awk: a program may run commands (system, pipes, getline) and write files (>).
func (r *reading) awk(c *call) {
	known := options{values: "Fv"}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	if len(p.operands) == 0 {
		return
	}
	if p.operands[0].kind != plain || !harmlessAwk(p.operands[0].text) {
		r.unclear("The program of awk may write or run something.")
		r.suspect(c.args())
	}
	for _, operand := range p.operands[1:] {
		if strings.HasPrefix(operand.text, "/inet") {
			r.unclear("awk opens a connection.")
		}
	}
}

// harmlessAwk reports whether a program neither runs nor writes. A > before the first brace compares; behind it, it may
// as well be a redirection.
func harmlessAwk(program string) bool {
	for _, forbidden := range []string{"system", "getline", "@", "\\\n", "close", "fflush", "inet"} {
		if strings.Contains(program, forbidden) {
			return false
		}
	}
	pattern, actions, _ := strings.Cut(program, "{")
	return !strings.Contains(strings.ReplaceAll(program, "||", ""), "|") && !strings.Contains(actions, ">") &&
		!strings.Contains(pattern, "print")
}

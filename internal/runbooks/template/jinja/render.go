package jinja

import "strings"

// Render renders a template; a text longer than limit is a fault. The error is a [*FaultError], [ErrBusy], or the cause of
// the context of the budget.
func Render(source string, variables Variables, limit int, budget *Budget) (text string, usage Usage, err error) {
	r := &run{Budget: budget, out: &buffer{Budget: budget, limit: limit}, scope: &scope{}}
	defer catch(&r.line, &err)
	body, usage := parse(source, budget)
	r.variables = variables.dict
	body(r)
	return r.out.text.String(), usage, nil
}

// parse reads a template.
func parse(source string, budget *Budget) (statement, Usage) {
	budget.allocate(perSource * len(source))
	if text, ends := strings.CutSuffix(source, "\n"); ends { // as MiniJinja: one line break at the end is none
		source = strings.TrimSuffix(text, "\r")
	}
	p := &parser{lexer: &lexer{source: source, line: 1}, usage: &usage{scopes: []map[string]bool{{}}, paths: map[string]string{}}}
	body, _ := p.body()
	return body, p.usage.result()
}

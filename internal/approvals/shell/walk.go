package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reading) statements(all []*syntax.Stmt) {
	for _, stmt := range all {
		r.statement(stmt)
	}
}

// statement walks through one statement. What is not in this small grammar is walked through as well, so that deny
// rules see its commands, and is unclear.
func (r *reading) statement(stmt *syntax.Stmt) {
	if !r.spend(1) {
		return
	}
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		r.unclear("The line starts a job in the background.")
	}
	for _, redirect := range stmt.Redirs {
		r.redirect(redirect)
	}
	from := r.extent()
	r.command(stmt.Cmd)
	if slices.ContainsFunc(stmt.Redirs, func(redirect *syntax.Redirect) bool { return redirect.Hdoc != nil || redirect.Op == syntax.WordHdoc }) {
		r.fed(stmt.Redirs, r.since(from))
	}
}

// fed reads the here-documents of a shell as the scripts that they are, for deny rules; that a shell reads what it is
// given is unclear anyway. Those of xargs are names.
func (r *reading) fed(redirects []*syntax.Redirect, commands []Command) {
	if anyOf(commands, feeders) {
		for _, redirect := range redirects {
			r.feeds(strings.Fields(r.given(redirect)), commands)
		}
	}
	if anyOf(commands, sqlClients) {
		for _, redirect := range redirects {
			if text := r.given(redirect); r.spend(len(text)) && dropsData(newCommand([]string{text}, false)) {
				r.alarm("It drops data of a database.")
			}
		}
	}
	if !anyOf(commands, shells) {
		return
	}
	for _, redirect := range redirects {
		r.guess(r.given(redirect))
	}
}

// given is the text that a here-document or a here-string gives to a command.
func (r *reading) given(redirect *syntax.Redirect) string {
	switch {
	case redirect.Hdoc != nil:
		return r.asWritten(redirect.Hdoc)
	case redirect.Op == syntax.WordHdoc:
		return r.word(redirect.Word).text
	}
	return ""
}

func (r *reading) command(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case nil: // redirections alone
	case *syntax.CallExpr:
		r.simple(cmd)
	case *syntax.BinaryCmd:
		r.binary(cmd)
	case *syntax.Subshell:
		outside := r.folder
		r.statements(cmd.Stmts)
		r.folder = outside
	case *syntax.Block:
		r.statements(cmd.Stmts)
	case *syntax.IfClause:
		r.branches(cmd)
	case *syntax.WhileClause:
		r.statements(cmd.Cond)
		r.statements(cmd.Do)
	case *syntax.ForClause:
		r.loop(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			r.statement(cmd.Stmt)
		}
	case *syntax.TestClause:
		r.test(cmd)
	default:
		r.foreign(cmd)
	}
}

// binary walks through a list or a pipe.
func (r *reading) binary(cmd *syntax.BinaryCmd) {
	from := r.extent()
	r.statement(cmd.X)
	var left []Command
	if len(r.Commands) <= maxShadows { // a pipe holds all the pipes to its left: beyond this, copies of copies
		left = r.since(from)
	}
	from = r.extent()
	if cmd.Op == syntax.Pipe {
		r.reads(left, cmd.Y)
	}
	r.statement(cmd.Y)
	if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
		r.piped(left, r.since(from))
	}
}

// reads guesses what a loop reads into its variable: ls / | while read f; do … done.
func (r *reading) reads(left []Command, right *syntax.Stmt) {
	loop, loops := right.Cmd.(*syntax.WhileClause)
	if !loops || len(loop.Cond) == 0 || len(left) == 0 {
		return
	}
	call, simple := loop.Cond[len(loop.Cond)-1].Cmd.(*syntax.CallExpr)
	if !simple || len(call.Args) < 2 || call.Args[0].Lit() != "read" {
		return
	}
	var names []string
	for _, c := range left {
		names = append(names, produced(c)...)
	}
	r.assignChoice(call.Args[len(call.Args)-1].Lit(), names)
}

// maxChoice bounds the text of all that a variable may hold.
const maxChoice = 1 << 10

// assignChoice remembers that a variable holds one of these texts, as braces with all of them would.
func (r *reading) assignChoice(name string, texts []string) {
	choice := strings.Join(texts, ",")
	if name == "" || len(texts) == 0 || len(choice) > maxChoice {
		return
	}
	if len(texts) > 1 {
		choice = "{" + choice + "}"
	}
	r.vars[name] = choice
	r.assignments++
}

func (r *reading) branches(clause *syntax.IfClause) {
	for ; clause != nil; clause = clause.Else {
		r.statements(clause.Cond)
		r.statements(clause.Then)
	}
}

// loopNames are variables that a loop may set. `for PATH in /tmp/evil; do ls; done` runs another ls.
var loopNames = regexp.MustCompile(`^[a-z]{1,12}$`)

func (r *reading) loop(clause *syntax.ForClause) {
	items, plain := clause.Loop.(*syntax.WordIter)
	if !plain || clause.Select || clause.Braces || !loopNames.MatchString(items.Name.Value) {
		r.unclear("The loop sets what may change how commands run.")
		r.substitutions(clause.Loop)
	} else {
		var choice []string
		for _, item := range items.Items {
			choice = append(choice, r.word(item).text)
		}
		r.assignChoice(items.Name.Value, choice)
	}
	r.statements(clause.Do)
}

// foreign walks through whatever else bash has: functions, declarations, coprocesses, arithmetic, case.
func (r *reading) foreign(cmd syntax.Command) {
	switch cmd := cmd.(type) {
	case *syntax.FuncDecl:
		r.unclear("The line declares a function.")
		from := r.extent()
		r.statement(cmd.Body)
		r.bomb(cmd, r.since(from))
	case *syntax.CoprocClause:
		r.unclear("The line starts a coprocess.")
		r.statement(cmd.Stmt)
	case *syntax.CaseClause:
		r.unclear("The line chooses by a pattern what runs.")
		r.substitutions(cmd.Word)
		for _, item := range cmd.Items {
			r.statements(item.Stmts)
		}
	case *syntax.DeclClause:
		r.unclear("The line declares variables.")
		for _, assign := range cmd.Args {
			r.assigned(assign)
		}
	default:
		r.unclear("The line computes something that may run commands.")
		r.substitutions(cmd)
	}
}

// test walks through [[ … ]]. Numbers there are arithmetic, and arithmetic runs what an index like a[$(id)] holds.
func (r *reading) test(clause *syntax.TestClause) {
	syntax.Walk(clause.X, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Word:
			r.word(node)
			return false
		case *syntax.UnaryTest:
			if node.Op == syntax.TsVarSet || node.Op == syntax.TsRefVar {
				r.unclear("A test looks at a variable, which may run what its index holds.")
			}
		case *syntax.BinaryTest:
			switch node.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				r.unclear("A test computes, which may run what an index holds.")
			}
		}
		return true
	})
}

// simple walks through a simple command.
func (r *reading) simple(from *syntax.CallExpr) {
	for _, assign := range from.Assigns {
		value := r.assigned(assign)
		if !harmlessVariable(assign.Name.Value, value) || assign.Append {
			r.unclear("The variable %s may change what runs.", quoted(assign.Name.Value))
		}
	}
	if len(from.Args) == 0 {
		return
	}
	before := r.extent()
	words := make([]word, len(from.Args))
	for i, arg := range from.Args {
		words[i] = r.word(arg)
	}
	r.substituted(words, r.since(before))
	r.call(call{words: words})
}

// assigned walks through the value of an assignment, returns it as far as it is known, and remembers it for guesses.
func (r *reading) assigned(assign *syntax.Assign) string {
	if assign.Index != nil {
		r.substitutions(assign.Index)
		r.unclear("The line assigns to an index.")
	}
	if assign.Array != nil {
		r.substitutions(assign.Array)
		r.unclear("The line assigns an array.")
	}
	if assign.Value == nil {
		return ""
	}
	value := r.word(assign.Value)
	if assign.Name != nil {
		r.vars[assign.Name.Value] = value.text
		r.assignments++
	}
	return value.text
}

var (
	localeValue = regexp.MustCompile(`^[A-Za-z0-9_.@:+,-]*$`)
	zoneValue   = regexp.MustCompile(`^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*$`)
)

// harmlessVariable reports whether a command runs as it would without this variable, but for language and looks. PATH,
// LD_PRELOAD, GIT_*, BASH_ENV, IFS and many others decide what runs.
func harmlessVariable(name, value string) bool {
	switch name {
	case "LANG", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "LC_MESSAGES",
		"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "TERM", "DEBIAN_FRONTEND":
		return localeValue.MatchString(value)
	case "TZ":
		return zoneValue.MatchString(value)
	case "PAGER", "GIT_PAGER", "SYSTEMD_PAGER", "MANPAGER":
		return value == "cat" || value == ""
	}
	return false
}

// shade notes a further reading of a part, for deny rules.
func (r *reading) shade(words []word) {
	if len(words) > 0 && len(r.shadows) < maxShadows && r.spend(size(words)) {
		r.shadows = append(r.shadows, newCommand(texts(words), true))
	}
}

// shadeText is shade for words that are not taken apart yet.
func (r *reading) shadeText(text string) {
	if len(r.shadows) < maxShadows && r.spend(len(text)) {
		if words := strings.Fields(text); len(words) > 0 {
			r.shadows = append(r.shadows, newCommand(words, true))
		}
	}
}

// redirect walks through a redirection.
func (r *reading) redirect(redirect *syntax.Redirect) {
	if redirect.N != nil && strings.HasPrefix(redirect.N.Value, "{") {
		r.unclear("A redirection sets a variable.")
	}
	if redirect.Hdoc != nil && !simpleText(redirect.Hdoc) {
		r.unclear("The text of a here-document is known only when it runs.")
		r.substitutions(redirect.Hdoc)
	}
	switch redirect.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		target := r.word(redirect.Word)
		if descriptor.MatchString(target.text) && target.kind == plain {
			return
		}
		r.opens(target, redirect.Op == syntax.DplOut)
	case syntax.WordHdoc:
		r.connects(r.word(redirect.Word))
	case syntax.RdrIn:
		r.opens(r.word(redirect.Word), false)
	default:
		r.opens(r.word(redirect.Word), true)
	}
}

// descriptor is what a duplication names: 2>&1, 2>&-.
var descriptor = regexp.MustCompile(`^([0-9]{1,3}-?|-)$`)

// simpleText reports whether a here-document is exactly its text.
func simpleText(doc *syntax.Word) bool {
	for _, part := range doc.Parts {
		if _, lit := part.(*syntax.Lit); !lit {
			return false
		}
	}
	return true
}

// opens notes a file that a redirection opens.
func (r *reading) opens(target word, toWrite bool) {
	r.connects(target)
	if toWrite {
		r.write(target)
		return
	}
	if target.kind != plain || target.text == "" {
		target.text = Unknown
	}
	r.Reads = append(r.Reads, target.text)
}

// connects notes a connection: bash itself connects to /dev/tcp/host/port.
func (r *reading) connects(target word) {
	if strings.HasPrefix(target.text, "/dev/tcp") || strings.HasPrefix(target.text, "/dev/udp") {
		r.unclear("A redirection opens a connection.")
	}
}

// write notes a file that is written, or taken away.
func (r *reading) write(target word) {
	switch target.text {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		if target.kind == plain {
			return
		}
	}
	r.targets = append(r.targets, r.within(target.text))
	if target.kind != plain || target.text == "" {
		target.text = Unknown
	}
	r.Writes = append(r.Writes, target.text)
}

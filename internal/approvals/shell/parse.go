package shell

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse takes a line apart as bash -c would read it. It never fails: what cannot be read is [Script.Unclear], and what
// cannot be parsed has no commands. It does a bounded amount of work, and ends soon after its context: what was not read
// then is unclear as well.
func Parse(ctx context.Context, line string) Script {
	script := Script{line: line}
	r := &reading{Script: &script, budget: &budget{ctx: ctx, limit: maxWork, guesses: map[guess]Script{}}, vars: map[string]string{}}
	r.read(line)
	r.finish()
	return script
}

// reading is one walk through a line, and through the scripts that are words of it.
type reading struct {
	*Script
	*budget                   // of the whole line, shared by all its readings
	source  string            // what is being parsed: the line, or a script within it
	depth   int               // scripts within scripts
	vars    map[string]string // what was assigned on the way: to guess what a variable hides
	moved   bool              // the folder changes on the way: relative names mean other files than they seem to
	folder  string            // that the line is known to change to, so far; "" where that is not known
	git     bool              // git runs: it obeys the configuration of the folder that it is started in
}

// read parses a source and walks through it.
func (r *reading) read(source string) {
	if !r.spend(perReading + len(source)) {
		return
	}
	r.inspect(source)
	if len(source) > maxLine || nesting(source) > maxNesting {
		r.unclear("The command is too long, or nested too deeply, to be judged.")
		r.crude(source)
		return
	}
	file, err := parse(source)
	if err != nil {
		r.unclear("The command cannot be parsed.")
		r.crude(source)
		return
	}
	outer := r.source
	r.source = source
	r.comments(file)
	r.statements(file.Stmts)
	r.source = outer
}

// comments: what a person reads there is not what runs, and an interactive shell may not even see that it is one.
func (r *reading) comments(file *syntax.File) {
	syntax.Walk(file, func(node syntax.Node) bool {
		if _, comment := node.(*syntax.Comment); comment {
			r.unclear("The command has comments.")
		}
		return true
	})
}

// parse returns the tree of a source. A panic of the parser is an error like any other: what a model writes is hostile.
func parse(source string) (file *syntax.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("shell: parser: %v", p)
		}
	}()
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(source), "")
}

// nesting is an upper bound of how deep the parser goes.
func nesting(source string) int {
	deep := 0
	for _, r := range source {
		if strings.ContainsRune("([{`", r) {
			deep++
		}
	}
	for word := range strings.FieldsSeq(source) {
		switch strings.Trim(word, ";&|") {
		case "if", "while", "until", "for", "case", "select", "time", "coproc", "!", "function":
			deep++
		}
	}
	return deep
}

// script reads a word that is itself a script: of sh -c, of eval.
func (r *reading) script(w word) {
	if r.depth >= maxDepth {
		r.unclear("Scripts are nested too deeply to be judged.")
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if w.kind != plain {
		r.unclear("A script is put together while it runs.")
		r.guess(w.text)
		return
	}
	r.read(w.text)
}

// guess reads what may be a script for deny rules and for [Script.Catastrophe] alone.
func (r *reading) guess(source string) {
	if r.depth >= maxDepth || strings.TrimSpace(source) == "" {
		return
	}
	key := guess{source, r.folder, r.depth + 1, r.assignments}
	aside, known := r.guesses[key]
	if !known {
		other := &reading{Script: &aside, budget: r.budget, vars: r.vars, depth: key.depth, folder: r.folder}
		other.read(source)
		r.guesses[key] = aside
	}
	if !r.spend(len(aside.Commands) + len(aside.shadows) + len(aside.alarms) + len(aside.targets)) {
		return
	}
	if len(r.shadows) < maxShadows {
		r.shadows = append(r.shadows, aside.Readings()...)
	}
	r.alarms = append(r.alarms, aside.alarms...)
	r.targets = append(r.targets, aside.targets...)
}

// crude takes apart what is no shell, or not yet: bash runs each line before it has read the next, so what stands
// before a syntax error runs.
func (r *reading) crude(source string) {
	pieces := strings.FieldsFunc(source[:min(len(source), maxLine)], func(c rune) bool { return strings.ContainsRune(";&|\n\r\x00()`<>{}$", c) })
	for _, piece := range pieces[:min(len(pieces), maxShadows)] {
		words := strings.Fields(strings.Map(dropQuotes, piece))
		if len(words) > 0 {
			r.shadows = append(r.shadows, newCommand(words, true))
		}
	}
}

func dropQuotes(c rune) rune {
	if strings.ContainsRune(`"'\`, c) {
		return -1
	}
	return c
}

// finish draws the conclusions that need the whole line.
func (r *reading) finish() {
	if r.over {
		r.unclear("The line takes too long to be judged.")
		r.alarms = []string{"It takes too long to be judged, so it may hide anything."}
		r.crude(r.line)
	}
	r.work = r.spent
	if len(r.Commands) > maxCommands {
		r.unclear("The line has more than %d commands.", maxCommands)
	}
	if r.moved && r.git {
		r.unclear("git obeys the configuration of the folder that the line changes to.")
	}
	for i, name := range r.Writes {
		if r.moved && !path.IsAbs(name) {
			r.Writes[i] = Unknown
		}
	}
	slices.Sort(r.Writes)
	r.Writes = slices.Compact(r.Writes)
	if len(r.Commands)+len(r.Writes)+len(r.Unclear) == 0 {
		r.unclear("There is no command.")
	}
}

// extent counts what was found so far, so that what a part of the line added can be told from the rest.
type extent struct{ commands, shadows int }

func (s *Script) extent() extent { return extent{len(s.Commands), len(s.shadows)} }

// since returns what was found since then.
func (r *reading) since(e extent) []Command {
	if !r.spend(len(r.Commands) - e.commands + len(r.shadows) - e.shadows) {
		return nil
	}
	return slices.Concat(r.Commands[e.commands:], r.shadows[e.shadows:])
}

// within is a name in the folder that the line changed to.
func (r *reading) within(name string) string {
	if r.folder == "" || name == "" || strings.ContainsAny(name[:1], "/~$`") || !r.spend(len(r.folder)+len(name)) {
		return name
	}
	return strings.TrimSuffix(r.folder, "/") + "/" + name
}

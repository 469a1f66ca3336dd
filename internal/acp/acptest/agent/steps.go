package main

import (
	"fmt"
	"io"
	"strings"
)

// group is a chapter of the script language.
type group struct {
	title string
	verbs []verb
}

func groups() []group {
	return []group{
		{"Talk", talkSteps}, {"Tool calls", callSteps}, {"Questions about calls", askSteps},
		{"State of the session", stateSteps}, {"Requests to the client", clientSteps},
		{"The agent's own hands", ownSteps}, {"Flow", flowSteps}, {"Ends", endSteps}, {"Faults", faultSteps},
	}
}

func init() {
	table = map[string]*verb{}
	for _, g := range groups() {
		for i := range g.verbs {
			table[g.verbs[i].name] = &g.verbs[i]
		}
	}
}

// printVerbs writes the table as the package comment of acptest has it.
func printVerbs(w io.Writer) {
	for i, g := range groups() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n\n", g.title)
		for _, v := range g.verbs {
			printWrapped(w, "\t", v.name+" "+v.usage)
			printWrapped(w, "\t    ", v.help)
		}
	}
}

// printWrapped breaks a text into lines, the further ones indented.
func printWrapped(w io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > 100 {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent + "    "
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

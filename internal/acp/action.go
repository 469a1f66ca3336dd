package acp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// What an agent says that its call would touch, in the terms that policy judges. It is the agent's word: a call that it
// does not ask about is not seen at all. So what is said here can hold a call back, and lets it through only by a rule
// that somebody made for what looks like this.

// classOf is the power that a call needs. What nobody can classify is asked about.
// https://agentclientprotocol.com/protocol/tool-calls#param-kind
func classOf(kind, tool string) domain.Class {
	if serverOf(tool) != "" {
		return domain.ClassMCP
	}
	switch kind {
	case "read", "search":
		return domain.ClassRead
	case "edit", "delete", "move":
		return domain.ClassWrite
	case "execute":
		return domain.ClassExecute
	case "fetch":
		return domain.ClassNetwork
	}
	if slices.Contains(delegates, strings.ToLower(tool)) {
		return domain.ClassDelegate
	}
	return domain.ClassOther
}

// delegates are what agents call the tool that has another agent do it.
var delegates = []string{"task", "agent", "subagent", "delegate", "spawn_agent", "delegate_to_agent"}

// serverOf is the MCP server whose tool it is, as most agents name such tools: mcp__server__tool.
func serverOf(tool string) string {
	rest, is := strings.CutPrefix(tool, "mcp__")
	server, _, named := strings.Cut(rest, "__")
	if !is || !named {
		return ""
	}
	return server
}

// action is what the call would touch, as far as its agent says.
func (c *toolCall) action() domain.Action {
	input := readObject(c.arguments)
	action := domain.Action{Server: serverOf(c.tool), Paths: c.paths(input)}
	switch c.class {
	case domain.ClassExecute:
		action.Command = commandLine(input)
		if action.Command == "" {
			action.Command = commandLine(readObject(c.told["rawInput"]))
		}
	case domain.ClassNetwork:
		if host := hostOf(input); host != "" {
			action.Hosts = []string{host}
		}
	}
	return action
}

// paths are the files that the call names: where it says that it works, and in its input under the usual names.
func (c *toolCall) paths(input object) (paths []string) {
	add := func(path string) {
		if path == "" {
			return
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.folder, path)
		}
		if path = filepath.Clean(path); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, location := range c.told.objects("locations") {
		add(location.text("path"))
	}
	for _, name := range []string{"path", "file_path", "filePath", "abs_path", "absolute_path", "notebook_path", "source", "destination"} {
		add(input.text(name))
	}
	return paths
}

// commandLine is what a shell would read. A program with its arguments is quoted, so that it is judged as the one
// command that it is; the line in sh -c is the line; variables that are set for it stand before it.
func commandLine(input object) string {
	line := input.text("command")
	var argv []string
	if line == "" {
		_ = json.Unmarshal(input["command"], &argv)
	}
	var arguments []string
	if json.Unmarshal(input["args"], &arguments) == nil && len(arguments) > 0 {
		argv = append([]string{line}, arguments...)
	}
	if len(argv) > 0 {
		line = quotedLine(argv)
	}
	return assignments(input.object("env")) + line
}

func quotedLine(argv []string) string {
	if len(argv) == 3 && slices.Contains([]string{"bash", "sh", "zsh"}, filepath.Base(argv[0])) && (argv[1] == "-c" || argv[1] == "-lc") {
		return argv[2]
	}
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = quotedWord(word)
	}
	return strings.Join(words, " ")
}

// quotedWord is a word as a shell reads it back.
func quotedWord(word string) string {
	plain := strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:,@+", r)
	}) < 0
	if plain && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func assignments(env object) (line string) {
	for _, name := range sortedNames(env) {
		line += name + "=" + quotedWord(env.text(name)) + " "
	}
	return line
}

func hostOf(input object) string {
	for _, name := range []string{"url", "uri", "href"} {
		if target, err := url.Parse(input.text(name)); err == nil && target.Hostname() != "" {
			return target.Hostname()
		}
	}
	return ""
}

package acp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// What an agent says that its call would touch, in the terms that policy judges. It is the agent's word: a call that it
// does not ask about is not seen at all. So what is said here can hold a call back, and lets it through only by a rule
// that somebody made for what looks like this.

// classOf is the power that a call of a kind needs. What nobody can classify is asked about.
// https://agentclientprotocol.com/protocol/tool-calls#param-kind
func classOf(kind, tool string) domain.Class {
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

// severity is how much a class asks for, so that of two words of an agent about one call the stricter one can count. It
// goes by what a wrong word would cost. To read changes nothing here; to write does; what leaves the machine (network,
// mcp, delegate) cannot be taken back; a command may do all of that. What nobody can classify is the strictest: no
// capability allows it, so a person looks at it. (That no capability denies it either gives an agent nothing: a call that
// is other from its first word on is asked about just the same.) No two are alike, or the first word would count again.
var severity = map[domain.Class]int{
	domain.ClassNone: 1, domain.ClassRead: 2, domain.ClassWrite: 3, domain.ClassNetwork: 4, domain.ClassMCP: 5,
	domain.ClassDelegate: 6, domain.ClassExecute: 7, domain.ClassOther: 8,
}

// commandLine is what a shell would read. A program with its arguments is quoted, so that it is judged as the one
// command that it is; the line in sh -c is the line; variables that are set for it stand before it.
func commandLine(input wire.Object) string {
	line := input.Text("command")
	var argv, arguments []string
	_ = json.Unmarshal(input["command"], &argv)
	if json.Unmarshal(input["args"], &arguments) == nil && len(arguments) > 0 {
		if len(argv) == 0 {
			argv = []string{line}
		}
		argv = append(argv, arguments...)
	}
	if len(argv) > 0 {
		line = quotedLine(argv)
	}
	if line == "" {
		return ""
	}
	env, assignments := input.Object("env"), ""
	for _, name := range sortedNames(env) {
		assignments += name + "=" + quotedWord(env.Text(name)) + " "
	}
	return assignments + line
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

// hostsOf are the hosts of the addresses in the input. What is no address may be one to the agent, and is a host that no
// rule knows.
func hostsOf(input wire.Object) (hosts []string) {
	for _, name := range []string{"url", "uri", "href"} {
		text := input.Text(name)
		target, err := url.Parse(text)
		host := text
		if err == nil {
			host = target.Hostname()
		}
		if host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Limits of a line. Beyond them a person must decide.
const (
	maxLine     = 64 << 10 // bytes of a line
	maxCommands = 50       // simple commands of a line
	maxNesting  = 300      // brackets and keywords that could open something: the parser recurses for each
	maxDepth    = 6        // scripts within scripts: sh -c "sh -c …"
	maxUnclear  = 20       // sentences; who has read twenty needs no more
	maxShadows  = 4 * maxCommands
)

// Script is a command line, taken apart. See [Parse].
type Script struct {
	Commands []Command // every simple command, wherever it stands, without its wrappers
	Writes   []string  // files that it writes, as written; [Unknown] where the name is not known
	Reads    []string  // files that it reads by redirections, as written
	Unclear  []string  // why a part of it cannot be judged; not empty: a person must look, whatever a rule allows

	line    string    // what was parsed
	shadows []Command // further readings that only deny rules and Catastrophe see: wrappers as written, guesses
	targets []string  // files whose contents the line writes or takes away, as written
	alarms  []string  // catastrophes of structure, that no single command shows: a fork bomb, a download into a shell
	work    int       // that the readings took; see maxWork
}

// Command is one simple command.
type Command struct {
	Text  string   // the words, joined by one space, quotes removed: what the patterns of rules see
	Words []string //
	Runs  bool     // it runs code that the words do not show, or is not known here: allowed only where a rule names it
}

// newCommand returns the command of these words.
func newCommand(words []string, runs bool) Command {
	return Command{Text: strings.Join(words, " "), Words: words, Runs: runs}
}

// name is the program's name without its folder.
func (c Command) name() string {
	if len(c.Words) == 0 {
		return ""
	}
	return path.Base(c.Words[0])
}

// bare is the text with the folder of the program's name cut off: /bin/rm -f x is rm -f x.
func (c Command) bare() string {
	if len(c.Words) == 0 || !strings.Contains(c.Words[0], "/") {
		return c.Text
	}
	return strings.Join(append([]string{c.name()}, c.Words[1:]...), " ")
}

// unclear notes, once, why a person must look.
func (s *Script) unclear(format string, args ...any) {
	sentence := fmt.Sprintf(format, args...)
	if len(s.Unclear) < maxUnclear && !slices.Contains(s.Unclear, sentence) {
		s.Unclear = append(s.Unclear, sentence)
	}
}

// Readings are the commands, and whatever else a part of the line may be or turn into: wrappers as written, and guesses.
// They are for rules that deny or ask; rules that allow use Commands alone.
func (s Script) Readings() []Command {
	return slices.Concat(s.Commands, s.shadows)
}

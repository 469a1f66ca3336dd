package shell

import (
	"path"
	"regexp"
	"strings"
)

// Patterns and braces stand for names that are known only when the line runs. Whether one of them may be a protected name is
// found out without the file system: by holding the pattern against the names.

// Limits of what the braces of one word are expanded to.
const (
	maxSpellings = 64
	maxWord      = 4 << 10 // bytes of the word
)

// spellings are the words that the braces of a word stand for, and what stands in for a variable at its beginning; each may
// still be a pattern. Of too many, it returns one that may be anything.
func spellings(word string) []string {
	if len(word) <= maxWord {
		word = defaulted(word, maxDepth)
	}
	if !strings.ContainsAny(word, "{(") {
		return []string{word}
	}
	if len(word) > maxWord {
		return []string{anything(word)} // no file has such a name, but what the braces leave of it may be one
	}
	pending, done := []string{extended.ReplaceAllString(word, "*")}, []string{}
	for len(pending) > 0 {
		first := pending[0]
		pending = pending[1:]
		before, choices, after, found := braces(first)
		if !found {
			done = append(done, first)
			continue
		}
		if len(pending)+len(done)+len(choices) > maxSpellings {
			return []string{anything(word)}
		}
		for _, choice := range choices {
			pending = append(pending, before+choice+after)
		}
	}
	return done
}

// substitute is a variable with what stands in for it where it is not set: ${X:-/etc}, ${HOME:?}.
var substitute = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:?[-=?+])`)

// defaulted puts what stands in for it in the place of a variable at the beginning of a word. A home is always set; and of any
// other variable nothing is known where the line ends without it.
func defaulted(word string, depth int) string {
	found := substitute.FindStringSubmatch(word)
	if found == nil || depth == 0 {
		return word
	}
	deep, end := 1, len(found[0])
	for ; end < len(word); end++ {
		if word[end] == '{' {
			deep++
		} else if word[end] == '}' {
			if deep--; deep == 0 {
				break
			}
		}
	}
	if end == len(word) {
		return word
	}
	rest := word[end+1:]
	switch {
	case found[1] == "HOME" || found[1] == "PWD":
		return "$" + found[1] + rest
	case strings.HasSuffix(found[2], "?"):
		return word
	}
	return defaulted(unquoted.Replace(word[len(found[0]):end])+rest, depth-1)
}

// unquoted takes quotes away.
var unquoted = strings.NewReplacer(`"`, "", "'", "")

// extended are the patterns of extglob, such as @(etc|bin).
var extended = regexp.MustCompile(`[@!+?*]\([^()]*\)`)

// anything is the beginning of a word that is certain, and whatever may follow.
func anything(word string) string {
	return word[:strings.IndexAny(word, "{(")] + "*"
}

// braces takes the first pair with a comma in it apart. A sequence such as {a..f} may be any of its letters.
func braces(word string) (before string, choices []string, after string, found bool) {
	for start := strings.IndexByte(word, '{'); start >= 0; {
		depth, from := 0, start+1
		choices = nil
		for i := start; i < len(word); i++ {
			switch word[i] {
			case '{':
				depth++
			case ',':
				if depth == 1 {
					choices, from = append(choices, word[from:i]), i+1
				}
			case '}':
				if depth--; depth > 0 {
					continue
				}
				if choices != nil {
					return word[:start], append(choices, word[from:i]), word[i+1:], true
				}
				if strings.Contains(word[start:i], "..") {
					return word[:start], []string{"*"}, word[i+1:], true
				}
				i = len(word) // a pair without a choice stands for itself
			}
		}
		next := strings.IndexByte(word[start+1:], '{')
		if next < 0 {
			break
		}
		start += 1 + next
	}
	return "", nil, "", false
}

// matches reports whether a pattern may stand for one of these names. One that cannot be read may.
func matches(pattern string, names []string) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	for _, name := range names {
		if strings.Count(pattern, "/") != strings.Count(name, "/") && !strings.Contains(pattern, "[") {
			continue
		}
		if is, err := path.Match(pattern, name); is || err != nil {
			return true
		}
	}
	return false
}

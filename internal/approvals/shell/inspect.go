package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPadding is how many blanks may stand side by side. More push what follows out of a person's sight.
const maxPadding = 24

// inspect looks at the characters of a source before anything is parsed: what a person does not see as it is, or what
// the parser and bash could read in two ways.
func (r *reading) inspect(source string) {
	if !utf8.ValidString(source) {
		r.unclear("The command is not UTF-8.")
	}
	for _, c := range source {
		switch {
		case c == '\n' || c == '\t':
		case c == '\r':
			r.unclear("The command has carriage returns.")
		case unicode.IsControl(c):
			r.unclear("The command has control characters.")
		case c > unicode.MaxASCII && !unicode.IsGraphic(c), unicode.Is(unicode.Cf, c), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c):
			r.unclear("The command has invisible characters.")
		case c > unicode.MaxASCII && unicode.IsSpace(c):
			r.unclear("The command has unusual blanks.")
		}
	}
	if strings.Contains(source, "\\\n") || strings.HasSuffix(source, "\\") {
		r.unclear("The command goes on in the next line behind a backslash.")
	}
	if padded(source) {
		r.unclear("The command has long gaps that may hide a part of it.")
	}
}

// padded reports whether blanks stand side by side in a long row.
func padded(source string) bool {
	row := 0
	for _, c := range source {
		if !unicode.IsSpace(c) {
			row = 0
			continue
		}
		if row++; row > maxPadding {
			return true
		}
	}
	return false
}

// speakable reports whether a name can be a program's name that a person reads as what it is: look-alikes such as a
// Cyrillic c are not.
func speakable(name string) bool {
	if name == "" || strings.HasPrefix(name, "-") {
		return false
	}
	return strings.IndexFunc(name, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("._+-/:[@", c)
	}) < 0
}

package shell

import (
	"regexp"
	"strings"
)

// sed judges options and script of sed: in GNU sed, e runs commands, and w writes files.
func (r *reading) sed(c *call) {
	known := options{
		flags: "nErsuz", values: "el",
		long:   []string{"quiet", "silent", "regexp-extended", "null-data", "separate", "unbuffered", "posix", "sandbox"},
		valued: []string{"expression"},
	}
	args, inPlace := takeInPlace(c.args())
	p := known.parse(args, false)
	r.refuseOdd(c, p)
	scripts, files := p.valuesOf("e", "expression"), p.operands
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, script := range scripts {
		if script.kind != plain || !harmlessSed(script.text) {
			r.unclear("The script of sed may write or run something.")
			r.suspect(c.args())
		}
	}
	if !inPlace {
		return
	}
	for _, file := range files {
		r.write(file)
	}
}

var inPlaceOption = regexp.MustCompile(`^(-[nErsuz]*i.*|--i[a-z-]*(=.*)?)$`)

// takeInPlace takes the option -i off: what stands directly behind it is a suffix.
func takeInPlace(args []word) (rest []word, found bool) {
	for _, arg := range args {
		if arg.kind == plain && inPlaceOption.MatchString(arg.text) {
			found = true
			continue
		}
		rest = append(rest, arg)
	}
	return rest, found
}

const (
	sedRegexp  = `/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:[^/\\\]\n\[]|\[:[a-z]+:\])*\])*/I?`
	sedAddress = `(?:[0-9]+|\$|[0-9]+~[0-9]+|` + sedRegexp + `)`
)

// sedReplace is s with one of three usual delimiters and with flags that neither write (w) nor run (e).
var sedReplace = func() string {
	var forms []string
	for _, d := range []string{`/`, `\|`, `#`, `,`, `:`} {
		piece := `(?:[^` + d + `\\\n\[]|\\[^\n]|\[\^?\]?(?:[^` + d + `\\\]\n\[]|\[:[a-z]+:\])*\])*`
		forms = append(forms, `s`+d+piece+d+`(?:[^`+d+`\\\n]|\\[^\n])*`+d+`[gpIi0-9]*`, `y`+d+piece+d+piece+d)
	}
	return strings.Join(forms, "|")
}()

// sedScript is a list of simple sed commands. Everything else, labels and blocks included, is for a person.
var sedScript = regexp.MustCompile(`^\s*(?:` + sedCommand() + `\s*(?:[;\n]\s*|$))*$`)

func sedCommand() string {
	return `(?:` + sedAddress + `(?:,\+?` + sedAddress + `)?)?\s*!?\s*(?:[pdDPqQnNgGhHx=]|[qQ][0-9]+|` + sedReplace + `)`
}

func harmlessSed(script string) bool { return sedScript.MatchString(script) }

package shell

import (
	"slices"
	"strings"
)

// throughFind judges find as a command of its own, and the commands that it runs.
func (r *reading) throughFind(c *call) {
	r.literal(c, "find")
	if !c.runs {
		r.note(c)
	}
	args := c.args()
	for i := 0; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			i = r.found(c, i+1)
		case "-delete":
			r.unclear("find deletes what it finds.")
			r.write(word{Unknown, opaque})
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if i+1 < len(args) {
				r.write(args[i+1])
			}
		}
	}
}

// found judges the command that find runs from here on, and returns where it ends. What stands for a file is a path
// that begins with the folder that was searched; which one is not known.
func (r *reading) found(c *call, from int) int {
	args := c.args()
	end := from
	for end < len(args) && args[end].text != ";" && (args[end].text != "+" || end == from || args[end-1].text != "{}") {
		end++
	}
	inner := call{words: slices.Clone(args[from:end]), open: true, deep: c.deep + 1}
	for i := range inner.words {
		if inner.words[i].text != "{}" && strings.Contains(inner.words[i].text, "{}") {
			inner.words[i].kind = wild
		}
	}
	if len(inner.words) == 0 || inner.words[0].text == "{}" {
		r.unclear("find runs what it finds.")
		return end
	}
	r.call(inner)
	return end
}

package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// mountsOfMachine reads the mounts of the server's own namespace, as proc(5) describes them.
func mountsOfMachine() (mounts, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all mounts
	for line := range strings.Lines(string(text)) {
		place, kind, isMount := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(place), strings.Fields(kind)
		if !isMount || len(fields) < 5 || len(kinds) < 1 {
			return nil, fmt.Errorf("%q is no mount", line)
		}
		all = append(all, mounted{Device: fields[2], Root: unescaped(fields[3]), Point: unescaped(fields[4]), Kind: kinds[0]})
	}
	return all, nil
}

// unescaped returns a path as it is: the kernel writes blanks, newlines and backslashes in octal.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace

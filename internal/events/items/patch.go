package items

import (
	"slices"
	"strconv"
	"strings"

	"signoff/internal/diff"
)

// splitPatch splits the argument of the tool patch into the parts of each file, unchanged. A part that cannot be applied fails as a call.
func splitPatch(patch string) []fileDiff {
	all := slices.Collect(strings.Lines(patch))
	var files []fileDiff
	for at := 0; at < len(all) && len(files) < maxChanges; {
		if !beginsFile(all, at) {
			at++
			continue
		}
		end := at + 2
		for end < len(all) && !beginsFile(all, end) && !strings.HasPrefix(all[end], "diff --git ") {
			end++
		}
		files = append(files, patchedFile(all[at:end]))
		at = end
	}
	return files
}

// beginsFile reports whether the names of a file are at a line, followed by a hunk. Without a hunk, they may be a removed and an added line.
func beginsFile(all []string, at int) bool {
	return at+2 < len(all) && strings.HasPrefix(all[at], "--- ") && strings.HasPrefix(all[at+1], "+++ ") &&
		strings.HasPrefix(all[at+2], "@@")
}

func patchedFile(part []string) fileDiff {
	file := fileDiff{path: patchedPath(part[0], part[1]), text: strings.Join(part, "")}
	for _, line := range part[2:] {
		switch line[0] {
		case '+':
			file.additions++
		case '-':
			file.deletions++
		}
	}
	return file
}

// patchedPath returns the path in the two lines with names. It removes git's prefixes a/ and b/ only together, since a folder may be called a.
func patchedPath(before, after string) string {
	from, to := patchedName(before), patchedName(after)
	stripped, isOld := strings.CutPrefix(from, "a/")
	renamed, isNew := strings.CutPrefix(to, "b/")
	if (isOld || from == diff.DevNull) && (isNew || to == diff.DevNull) {
		from, to = stripped, renamed
	}
	if to == diff.DevNull {
		to = from
	}
	path, _ := bounded(to, pathBytes)
	return path
}

// patchedName returns the name in such a line. Git quotes special characters, and a time may follow behind a tab.
func patchedName(line string) string {
	name := strings.TrimRight(line[len("--- "):], " \r\n")
	if strings.HasPrefix(name, `"`) {
		quoted, _ := strconv.QuotedPrefix(name)
		if unquoted, err := strconv.Unquote(quoted); err == nil {
			return strings.ToValidUTF8(unquoted, "\uFFFD")
		}
	}
	name, _, _ = strings.Cut(name, "\t")
	return name
}

// maxChanges bounds the files of one call.
const maxChanges = 200

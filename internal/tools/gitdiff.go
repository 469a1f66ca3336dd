package tools

import "strings"

// gitRefused are the header lines of changes by git that are no changes of text.
var gitRefused = []struct{ prefix, why string }{
	{"old mode ", "modes cannot be changed by a patch; use a command"},
	{"new mode ", "modes cannot be changed by a patch; use a command"},
	{"rename ", "files cannot be renamed by a patch; use a command"},
	{"copy ", "files cannot be copied by a patch; create the file"},
	{"similarity index ", "files cannot be renamed or copied by a patch; use a command"},
	{"GIT binary patch", "binary patches cannot be applied"},
	{"Binary files ", "binary patches cannot be applied"},
}

// gitSection reads git's header of one file. Its names and hunks, where it has any, stand as in any other patch, and must say the
// same as the header.
func (r *patchReader) gitSection() error {
	begin, kind := r.next, edits
header:
	for r.next++; r.next < len(r.lines); r.next++ {
		line := r.lines[r.next]
		for _, refused := range gitRefused {
			if strings.HasPrefix(line, refused.prefix) {
				return r.wrong(r.next, "%s", refused.why)
			}
		}
		mode, isNew := strings.CutPrefix(line, "new file mode ")
		switch {
		case isNew && mode != "100644":
			return r.wrong(r.next, "only plain files can be created by a patch, not executables, links or submodules; use a command")
		case isNew:
			kind = creates
		case strings.HasPrefix(line, "deleted file mode "):
			kind = deletes
		case !strings.HasPrefix(line, "index ") && !strings.HasPrefix(line, "dissimilarity index "):
			break header
		}
	}
	if r.next == len(r.lines) || !r.atNames(r.next) {
		return r.gitEmpty(begin, kind)
	}
	from, to := strings.HasPrefix(r.lines[r.next], "--- "+devNull), strings.HasPrefix(r.lines[r.next+1], "+++ "+devNull)
	if kind != edits && ((kind == creates) != from || (kind == deletes) != to) {
		return r.wrong(r.next, "the header of git and the names do not agree")
	}
	return r.named()
}

// gitEmpty is about a file without lines: there is nothing else that git leaves without hunks.
func (r *patchReader) gitEmpty(begin int, kind patchKind) error {
	if kind == edits {
		return r.wrong(begin, "a file without a hunk")
	}
	names := strings.TrimPrefix(r.lines[begin], "diff --git ")
	half := len(names) / 2 // "a/name b/name"
	from, isOld := strings.CutPrefix(names[:half], "a/")
	to, isNew := strings.CutPrefix(names[min(half+1, len(names)):], "b/")
	if !isOld || !isNew || from != to {
		return r.wrong(begin, "the names cannot be read")
	}
	path, err := r.path(begin, from)
	if err != nil {
		return err
	}
	return r.add(begin, filePatch{path: path, kind: kind})
}

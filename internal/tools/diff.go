package tools

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxPatchedFiles = 50
	maxHunks        = 200
)

// patchKind is the change of a patch to one file.
type patchKind string

const (
	edits   patchKind = "edit"
	creates patchKind = "create"
	deletes patchKind = "delete"
)

// filePatch is the part of a patch that is about one file.
type filePatch struct {
	path  string
	kind  patchKind
	hunks []hunk
}

// String is the part as a person reads it.
func (p filePatch) String() string {
	added, removed := 0, 0
	for _, h := range p.hunks {
		for _, line := range h.lines {
			switch line.op {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return fmt.Sprintf("%s %s +%d −%d", p.kind, code(p.path), added, removed)
}

// hunk is one run of lines. What it says about numbers of lines is believed only as far as it helps.
type hunk struct {
	at         int // the first line, from 1; 0 where the header does not say
	lines      []hunkLine
	oldUnended bool // the last old line has no line feed
	newUnended bool // nor has the last new one
}

type hunkLine struct {
	op   byte // ' ', '-' or '+'
	text string
}

// old are the lines that must be there.
func (h hunk) old() (lines []string) {
	for _, line := range h.lines {
		if line.op != '+' {
			lines = append(lines, line.text)
		}
	}
	return lines
}

// patchReader reads a patch line by line. Programs that apply patches believe the counts in the headers of hunks; models
// miscount. So the end of a hunk is found by what its lines begin with, and the counts settle only what that leaves open.
type patchReader struct {
	lines []string // without line feeds
	next  int
	files []filePatch
	hunks int
	mail  bool // a further mail has begun, with text
}

// parsePatch reads a unified diff, of git or of another program.
func parsePatch(text string) ([]filePatch, error) {
	if strings.Count(text, "\r\n") == strings.Count(text, "\n") {
		text = withLF(text) // all of it was written on Windows, which says nothing about the files
	}
	r := &patchReader{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	for r.next < len(r.lines) {
		if err := r.section(); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, invalid(`There is no file in the patch: it must be a unified diff with lines "--- path", "+++ path" and "@@ … @@".`)
	}
	return r.files, nil
}

// section reads the part about one file, or skips a line that is about none, such as a commit message.
func (r *patchReader) section() error {
	switch line := r.lines[r.next]; {
	case strings.HasPrefix(line, "diff --git "):
		return r.gitSection()
	case r.atNames(r.next):
		return r.named()
	case strings.HasPrefix(line, "@@"):
		return r.wrong(r.next, `a hunk without the lines "--- path" and "+++ path" before it`)
	case r.namesAlone(r.next):
		return r.wrong(r.next, "a file without a hunk")
	case strings.HasPrefix(line, "GIT binary patch") || strings.HasPrefix(line, "Binary files "):
		return r.wrong(r.next, "binary patches cannot be applied")
	case strings.HasPrefix(line, "From "):
		r.mail = true
	case r.stray(line):
		return r.wrong(r.next, "%s looks like a part of a hunk, but the hunk has ended above it; mend the numbers of lines in its header", code(line))
	}
	r.next++
	return nil
}

// stray reports whether a line between two files is rather a rest of the hunk before it. A model that forgets the space before
// "diff the files" has ended the hunk there, and to pass over the rest would be to apply half of it.
func (r *patchReader) stray(line string) bool {
	return len(r.files) > 0 && !r.mail && !r.atSignature() && line != "" && strings.ContainsRune("+- ", rune(line[0]))
}

// atNames reports whether a file's names are at line i, with a hunk behind them. Two removed and added lines look the same
// without it.
func (r *patchReader) atNames(i int) bool {
	return r.namesAlone(i) && r.follows(i+1, "@@")
}

func (r *patchReader) namesAlone(i int) bool {
	return strings.HasPrefix(r.lines[i], "--- ") && r.follows(i, "+++ ")
}

func (r *patchReader) follows(i int, prefix string) bool {
	return i+1 < len(r.lines) && strings.HasPrefix(r.lines[i+1], prefix)
}

// named reads the names of a file, and its hunks.
func (r *patchReader) named() error {
	begin := r.next
	from, err := r.name(begin)
	if err != nil {
		return err
	}
	to, err := r.name(begin + 1)
	if err != nil {
		return err
	}
	file, err := r.about(begin, from, to)
	if err != nil {
		return err
	}
	r.next, r.mail = r.next+2, false
	for r.next < len(r.lines) && strings.HasPrefix(r.lines[r.next], "@@") {
		begin := r.next
		h, err := r.hunk()
		if err == nil {
			err = r.suits(begin, file.kind, h)
		}
		if err != nil {
			return err
		}
		file.hunks = append(file.hunks, h)
	}
	return r.add(begin, file)
}

const devNull = "/dev/null"

// about says what becomes of which file. The prefixes go only together: a folder may well be called a.
func (r *patchReader) about(at int, from, to string) (filePatch, error) {
	stripped, isOld := strings.CutPrefix(from, "a/")
	renamed, isNew := strings.CutPrefix(to, "b/")
	if (isOld || from == devNull) && (isNew || to == devNull) {
		from, to = stripped, renamed
	}
	switch {
	case from == devNull && to == devNull:
		return filePatch{}, r.wrong(at, "no file has a name")
	case from == devNull:
		return filePatch{path: to, kind: creates}, nil
	case to == devNull:
		return filePatch{path: from, kind: deletes}, nil
	case from != to:
		return filePatch{}, r.wrong(at, "files cannot be renamed or copied by a patch; the names %s and %s differ", code(from), code(to))
	}
	return filePatch{path: from, kind: edits}, nil
}

// name reads the path in a line such as "--- a/path". A tab ends it, and programs write a time behind that; git
// quotes what is not plain.
func (r *patchReader) name(at int) (string, error) {
	text := r.lines[at][len("--- "):]
	if strings.HasPrefix(text, `"`) {
		return r.unquoted(at, text)
	}
	if name, _, timed := strings.Cut(text, "\t"); timed {
		return r.path(at, name)
	}
	return r.path(at, strings.TrimRight(text, " \r"))
}

func (r *patchReader) unquoted(at int, text string) (string, error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", r.wrong(at, "the quoted name cannot be read")
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return "", r.wrong(at, "the quoted name cannot be read")
	}
	return r.path(at, name)
}

func (r *patchReader) path(at int, name string) (string, error) {
	if strings.TrimSpace(name) == "" || len(name) > maxPathBytes || !utf8.ValidString(name) || strings.ContainsRune(name, 0) {
		return "", r.wrong(at, "the name is empty, too long or not text")
	}
	return name, nil
}

// hunkHeader takes numbers of up to nine digits: longer ones are of no file.
var hunkHeader = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@`)

// counts are how many lines a header says that its hunk has; -1 where it does not.
type counts struct{ old, new int }

func readHunkHeader(line string) (at int, said counts) {
	fields := hunkHeader.FindStringSubmatch(line)
	if fields == nil {
		return 0, counts{-1, -1}
	}
	number := func(text string) int {
		if text == "" {
			return 1
		}
		n, _ := strconv.Atoi(text) // nine digits at most
		return n
	}
	return number(fields[1]), counts{number(fields[2]), number(fields[4])}
}

// hunk reads a header and the lines behind it.
func (r *patchReader) hunk() (hunk, error) {
	begin := r.next
	if r.hunks++; r.hunks > maxHunks {
		return hunk{}, r.wrong(begin, "at most %d hunks are allowed", maxHunks)
	}
	at, said := readHunkHeader(r.lines[begin])
	h, read := hunk{at: at}, counts{}
	blank := 0 // lines at the end that are wholly empty
	for r.next++; r.next < len(r.lines) && !r.ends(said == read); r.next++ {
		line := r.lines[r.next]
		if strings.HasPrefix(line, `\`) {
			if err := r.unended(&h); err != nil {
				return hunk{}, err
			}
			continue
		}
		blank++
		if strings.TrimSuffix(line, "\r") == "" {
			line = " " + line // editors and models drop the space of a line that is empty
		} else {
			blank = 0
		}
		if err := r.line(&h, &read, line); err != nil {
			return hunk{}, err
		}
	}
	for ; blank > 0 && said != read && (said.old < read.old || said.new < read.new); blank-- {
		h.lines = h.lines[:len(h.lines)-1] // they are between the hunk and what follows
		read.old, read.new = read.old-1, read.new-1
	}
	if !slices.ContainsFunc(h.lines, func(line hunkLine) bool { return line.op != ' ' }) {
		return hunk{}, r.wrong(begin, "the hunk changes nothing: no line begins with + or -")
	}
	return h, nil
}

// ends reports whether the next line is not of the hunk any more. Its counts are asked only about what looks like removed
// lines: the signature under a mail, and names without a hunk behind them.
func (r *patchReader) ends(complete bool) bool {
	line := r.lines[r.next]
	if complete && (r.atSignature() || r.namesAlone(r.next)) {
		return true
	}
	return strings.HasPrefix(line, "@@") || strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "Index: ") || r.atNames(r.next)
}

// atSignature reports whether git's signature is next: a line for it, and its version in the one below. Above more lines of a
// hunk, the same line means that "- " is removed; to end there would be to apply half of the hunk.
func (r *patchReader) atSignature() bool {
	if strings.TrimSuffix(r.lines[r.next], "\r") != "-- " || r.next+1 == len(r.lines) {
		return false
	}
	below := strings.TrimSuffix(r.lines[r.next+1], "\r")
	return below != "" && !strings.ContainsRune("+-@ \\", rune(below[0]))
}

func (r *patchReader) line(h *hunk, read *counts, line string) error {
	op, text := line[0], line[1:]
	switch op {
	case ' ':
		read.old, read.new = read.old+1, read.new+1
	case '-':
		read.old++
	case '+':
		read.new++
	default:
		return r.wrong(r.next, "%s is no line of a hunk: each begins with a space, + or -", code(line))
	}
	if h.oldUnended && op != '+' || h.newUnended && op != '-' {
		return r.wrong(r.next, "a line follows the one that is said to be the last of the file")
	}
	h.lines = append(h.lines, hunkLine{op, text})
	return nil
}

// unended reads the mark of a last line without a line feed, which is about the line before it.
func (r *patchReader) unended(h *hunk) error {
	if len(h.lines) == 0 {
		return r.wrong(r.next, "the mark of a last line without a line feed has no line before it")
	}
	op := h.lines[len(h.lines)-1].op
	h.oldUnended = h.oldUnended || op != '+'
	h.newUnended = h.newUnended || op != '-'
	return nil
}

// suits checks that a hunk fits the kind of the patch.
func (r *patchReader) suits(at int, kind patchKind, h hunk) error {
	for _, line := range h.lines {
		if kind == creates && line.op != '+' {
			return r.wrong(at, "the patch creates the file, so all its lines must begin with +")
		}
		if kind == deletes && line.op != '-' {
			return r.wrong(at, "the patch deletes the file, so all its lines must begin with -")
		}
	}
	return nil
}

// add takes a file. Models often repeat the names before each hunk; all of them are about the file as it is now.
func (r *patchReader) add(at int, file filePatch) error {
	file.path = filepath.Clean(file.path)
	same := slices.IndexFunc(r.files, func(other filePatch) bool { return other.path == file.path })
	switch {
	case same < 0 && len(r.files) == maxPatchedFiles:
		return r.wrong(at, "at most %d files can be patched at once", maxPatchedFiles)
	case same < 0:
		r.files = append(r.files, file)
	case file.kind != edits || r.files[same].kind != edits:
		return r.wrong(at, "the file %s is there twice", code(file.path))
	default:
		r.files[same].hunks = append(r.files[same].hunks, file.hunks...)
	}
	return nil
}

func (r *patchReader) wrong(at int, format string, args ...any) error {
	return invalid("Line %d of the patch: %s.", at+1, fmt.Sprintf(format, args...))
}

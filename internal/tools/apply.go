package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// nearby is how many lines away from its place a hunk may be found before the whole file is searched.
const nearby = 100

// placed is a hunk with the line, from 0, where it fits.
type placed struct {
	hunk
	number int // in the patch, from 1
	at     int
	length int // of the replaced lines
}

// apply returns the patched text. Every hunk is looked for in the text as it is, so the order of hunks does
// not matter, and two that touch the same line are an error. moved says which were found elsewhere.
func (p filePatch) apply(ctx context.Context, text string) (after, moved string, err error) {
	lines := splitLines(text)
	plain := bared(lines)
	places := make([]placed, 0, len(p.hunks))
	for i, h := range p.hunks {
		if ctx.Err() != nil {
			return "", "", domain.Errorf(domain.CodeCancelled, "The patch was cancelled.").With(ctx.Err())
		}
		at, err := p.locate(plain, i, h)
		if err != nil {
			return "", "", err
		}
		if h.at > 0 && at != h.at-1 && len(lines) > 0 {
			moved += fmt.Sprintf(" (hunk %d found at line %d)", i+1, at+1)
		}
		places = append(places, placed{hunk: h, number: i + 1, at: at, length: len(h.old())})
	}
	slices.SortStableFunc(places, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(places); i++ {
		if before := places[i-1]; before.at+max(before.length, 1) > places[i].at {
			return "", "", p.misfit("the hunks %d and %d overlap at line %d; make them one", before.number, places[i].number, places[i].at+1)
		}
	}
	return assemble(lines, places, usualEnd(text)), moved, nil
}

// locate returns the one line where a hunk fits: its own place, or else the only one nearby, or else the only one.
func (p filePatch) locate(lines []string, index int, h hunk) (int, error) {
	block := bared(h.old())
	if len(block) == 0 {
		if len(lines) > 0 {
			return 0, p.misfit("hunk %d of %d has no line that is there already, so its place is not sure; take in some", index+1, len(p.hunks))
		}
		return 0, nil
	}
	found := occurrences(lines, block)
	if h.oldUnended || h.newUnended {
		found = slices.DeleteFunc(found, func(at int) bool { return at+len(block) != len(lines) })
	}
	if _, exact := slices.BinarySearch(found, h.at-1); exact {
		return h.at - 1, nil
	}
	candidates := found
	if h.at > 0 {
		near := slices.DeleteFunc(slices.Clone(found), func(at int) bool { return at < h.at-1-nearby || at > h.at-1+nearby })
		if len(near) > 0 {
			candidates = near
		}
	}
	switch len(candidates) {
	case 0:
		return 0, p.missing(lines, index, h)
	case 1:
		return candidates[0], nil
	default:
		return 0, p.misfit("hunk %d of %d fits at line %d as well as at line %d; take in more lines around the change",
			index+1, len(p.hunks), candidates[0]+1, candidates[1]+1)
	}
}

// missing says where the hunk would nearly fit, and which line differs there.
func (p filePatch) missing(lines []string, index int, h hunk) error {
	block := h.old()
	place := similarPlace(lines, block)
	if place < 0 {
		return domain.Errorf(domain.CodeToolFailed, "%s: hunk %d of %d does not fit: no line of it is there. Read the file.%s",
			visible(p.path), index+1, len(p.hunks), aboutMask(block...))
	}
	return domain.Errorf(domain.CodeToolFailed, "%s: hunk %d of %d does not fit. The most similar place begins at line %d. %s%s",
		visible(p.path), index+1, len(p.hunks), place+1, difference(lines, place, block, "the patch"), aboutMask(block...))
}

// assemble puts the hunks, which are sorted and do not overlap, into the lines.
func assemble(lines []string, places []placed, end string) string {
	var after []string
	from := 0
	ended := len(lines) == 0 || strings.HasSuffix(lines[len(lines)-1], "\n")
	for _, place := range places {
		after = append(after, lines[from:place.at]...)
		after = append(after, place.written(lines, end)...)
		from = place.at + place.length
		if from == len(lines) {
			ended = place.ended(ended, len(lines) == 0)
		}
	}
	return joined(append(after, lines[from:]...), end, ended)
}

// written are the lines that take the place of the hunk's old ones. A new line ends as the old one before it does: the ends
// in the patch are those of whoever wrote it. Only an empty file has none to go by.
func (p placed) written(lines []string, end string) (after []string) {
	from, empty := p.at, len(lines) == 0
	for _, line := range p.lines {
		switch line.op {
		case '+':
			text := line.text
			if !empty || end == "\r\n" {
				text = strings.TrimSuffix(text, "\r")
			}
			after = append(after, text+end)
			continue
		case ' ':
			after = append(after, lines[from])
		}
		if found := endOf(lines[from]); found != "" {
			end = found
		}
		from++
	}
	return after
}

// ended reports whether the last line is to have a line feed. A patch that says the same of the old line and the new one
// leaves that as it is: models forget the mark.
func (h hunk) ended(before, empty bool) bool {
	if h.oldUnended == h.newUnended && !empty {
		return before
	}
	return !h.newUnended
}

// joined is a text of lines; all but the last must have an end.
func joined(lines []string, end string, ended bool) string {
	var text strings.Builder
	for i, line := range lines {
		last := i == len(lines)-1
		switch {
		case last && !ended && strings.HasSuffix(line, "\n"):
			line = bare(line)
		case last && !ended:
		case !strings.HasSuffix(line, "\n"):
			line += end
		}
		text.WriteString(line)
	}
	return text.String()
}

package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// crlf reports whether most lines of a text end as on Windows.
func crlf(text string) bool {
	return strings.Count(text, "\r\n")*2 > strings.Count(text, "\n")
}

// usualEnd is how most lines of a text end.
func usualEnd(text string) string {
	if crlf(text) {
		return "\r\n"
	}
	return "\n"
}

// endOf is how one line ends; empty where it is the last and has no end.
func endOf(line string) string { return line[len(bare(line)):] }

// withCRLF ends every line of a text as on Windows.
func withCRLF(text string) string {
	return strings.ReplaceAll(withLF(text), "\n", "\r\n")
}

func withLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// bare is a line without its end.
func bare(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

func bared(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = bare(line)
	}
	return all
}

// occurrences returns where block stands in lines, overlapping ones too; both are bare. It is the algorithm of Knuth,
// Morris and Pratt: both come from outside, and a file of equal lines must not cost the product of their lengths.
func occurrences(lines, block []string) (found []int) {
	if len(block) == 0 || len(block) > len(lines) {
		return nil
	}
	fallback := borders(block)
	matched := 0
	for i, line := range lines {
		for matched > 0 && line != block[matched] {
			matched = fallback[matched-1]
		}
		if line == block[matched] {
			matched++
		}
		if matched == len(block) {
			found = append(found, i+1-matched)
			matched = fallback[matched-1]
		}
	}
	return found
}

// borders returns, for each beginning of block, how long its longest proper end is that is a beginning too.
func borders(block []string) []int {
	lengths := make([]int, len(block))
	for i, length := 1, 0; i < len(block); i++ {
		for length > 0 && block[i] != block[length] {
			length = lengths[length-1]
		}
		if block[i] == block[length] {
			length++
		}
		lengths[i] = length
	}
	return lengths
}

const (
	maxVotes     = 8       // places that one line votes for
	maxCompared  = 100_000 // lines whose words are compared
	similarWords = 0.5     // of a line, at least
)

// similarPlace returns where lines are most like block, or -1: every line that is the same but for white space votes for
// the place where the block would begin. Where none is, the place is that of the line whose words are most like those
// of the block's first one.
func similarPlace(lines, block []string) int {
	wanted := map[string][]int{}
	for i, line := range block {
		if key := squeezed(line); key != "" && len(wanted[key]) < maxVotes {
			wanted[key] = append(wanted[key], i)
		}
	}
	votes, best := make([]int, len(lines)), -1
	for i, line := range lines {
		for _, offset := range wanted[squeezed(line)] {
			place := i - offset
			if place < 0 {
				continue
			}
			if votes[place]++; best < 0 || votes[place] > votes[best] {
				best = place
			}
		}
	}
	if best >= 0 {
		return best
	}
	return similarLine(lines, block)
}

func similarLine(lines, block []string) int {
	first := slices.IndexFunc(block, func(line string) bool { return squeezed(line) != "" })
	if first < 0 {
		return -1
	}
	wanted, best, most := words(block[first]), -1, similarWords
	for i, line := range lines[:min(len(lines), maxCompared)] {
		if likeness := likeness(wanted, words(line)); likeness >= most && i >= first && (best < 0 || likeness > most) {
			best, most = i-first, likeness
		}
	}
	return best
}

// squeezed is a line with its white space normalized.
func squeezed(line string) string { return strings.Join(strings.Fields(line), " ") }

func words(line string) map[string]bool {
	found := map[string]bool{}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		found[word] = true
	}
	return found
}

// likeness is 1 for the same words, and 0 for none in common.
func likeness(a, b map[string]bool) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	common := 0
	for word := range a {
		if b[word] {
			common++
		}
	}
	return float64(2*common) / float64(len(a)+len(b))
}

// difference tells where block first differs from the lines at place, so that a model can mend it; the ends of a text
// that was given in part may stand in the middle of a line. what is the text that was expected.
func difference(lines []string, place int, block []string, what string) string {
	for i, wanted := range block {
		wanted = bare(wanted)
		if place+i >= len(lines) {
			return fmt.Sprintf("The file ends before line %d, where %s has %s.", place+i+1, what, quoted(wanted))
		}
		found := bare(lines[place+i])
		if found == wanted || i == 0 && strings.HasSuffix(found, wanted) || i == len(block)-1 && strings.HasPrefix(found, wanted) {
			continue
		}
		text := fmt.Sprintf("Line %d is %s, where %s has %s.", place+i+1, quoted(found), what, quoted(wanted))
		if squeezed(found) == squeezed(wanted) {
			text += " Only the white space differs."
		}
		return text
	}
	return "Only the ends of lines differ."
}

// quoted shows a line with its tabs and other invisible characters.
func quoted(line string) string {
	return fmt.Sprintf("%q", shorten(line, 120, 40))
}

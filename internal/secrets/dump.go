package secrets

import (
	"bytes"
	"slices"
)

// A dump is a value as xxd, od and hexdump print it: in hex, byte by byte or by little-endian words, in groups with blanks or signs between
// them, in rows that may begin with an offset and end with a column of letters, or with the letters in a row of their own below. So are
// bytes that are escaped one by one, as in %53%33.

// What stands in a dump for a byte of other data, in a word that the value has a part of.
const (
	anyByte  = -1 - iota // in the word with the value's first byte
	lastByte             // in the word with its last one; where the data end with the value, blanks may stand in its place
)

// dump is the bytes of a value in the order in which they are printed.
type dump []int16

// dumps are the orders in which the bytes of value may be printed: one by one, and by words of 2, 4 and 8 bytes. Where a word begins within
// the value depends on what stands before it. Where a row has the first byte alone, and rows are wider, it is not taken for a beginning; so the
// rest is looked for, too.
func dumps(value string) (all []dump) {
	for _, part := range []string{value, value[1:]} {
		for _, word := range []int{1, 2, 4, 8} {
			for before := range word {
				all = append(all, inWords(part, word, before))
			}
		}
	}
	return all
}

// isTelling says whether the bytes before at are more than a number that stands in some text: only then it is worth looking for a next row.
func (d dump) isTelling(at int) bool {
	known := 0
	for _, b := range d[:at] {
		if isKnown(b) {
			known++
		}
	}
	return known >= 2
}

func inWords(value string, word, before int) dump {
	d := slices.Repeat(dump{anyByte}, before)
	for i := range len(value) {
		d = append(d, int16(value[i]))
	}
	for len(d)%word != 0 {
		d = append(d, lastByte)
	}
	for words := range slices.Chunk(d, word) {
		slices.Reverse(words)
	}
	d = d[slices.IndexFunc(d, isKnown):]
	for !isKnown(d[len(d)-1]) {
		d = d[:len(d)-1]
	}
	return d
}

func isKnown(b int16) bool { return b >= 0 }

// read returns where the dump ends if it begins at i, or 0; cut says that the text ends before that is known.
func (d dump) read(text []byte, i int, end bool) (to int, cut bool) {
	r := dumpReader{text: text, whole: end, dump: d, budget: budgetOf(d)}
	to, _ = r.read(i, 0)
	return to, r.cut
}

// budgetOf is how many bytes may be looked at to read a dump: where a row has one byte of it, also an offset and a row of letters.
func budgetOf(d dump) int { return 64*len(d) + 4*mostColumn }

// dumpReader reads one dump. Where it is not clear what a row goes on with, it tries one thing after the other, within its budget.
type dumpReader struct {
	text   []byte
	whole  bool // nothing follows the text
	dump   dump
	rows   int  // ends of rows that were passed
	cut    bool // the text ends before it is clear
	budget int  // bytes that may still be looked at, some of them several times
}

// read reads the dump from its byte at on, which begins at i.
func (r *dumpReader) read(i, at int) (to int, fits bool) {
	for r.fits(i, at) {
		i += 2
		if at++; at == len(r.dump) {
			return r.end(i)
		}
	}
	if at == 0 || r.cut {
		return 0, false
	}
	return r.readOn(i, at)
}

// readOn reads on behind a gap: blanks and signs, or the end of a row and what the next one begins with.
func (r *dumpReader) readOn(i, at int) (to int, fits bool) {
	if next := r.gap(i); next > i {
		if to, fits = r.tryAt(next, at); fits {
			return to, true
		}
	}
	row := 0
	switch {
	case r.budget <= 0:
	case r.dump.isTelling(at):
		row = r.rowEnd(i)
	case at == 1 && isKnown(r.dump[1]) && mayEndRow(r.text, i, byte(r.dump[0])):
		row = r.narrowEnd(i, byte(r.dump[0]))
	}
	if r.cut || row == 0 {
		return 0, false
	}
	r.rows++
	for _, next := range r.rowStarts(row) {
		if r.cut || next == 0 {
			continue
		}
		if to, fits = r.tryAt(next, at); fits {
			return to, true
		}
	}
	r.rows--
	return 0, false
}

// tryAt reads on at i, where a byte of the dump stands there. A word that the data end in may have blanks in the place of its missing bytes.
func (r *dumpReader) tryAt(i, at int) (to int, fits bool) {
	for ; r.budget > 0 && r.fits(i, at); at++ {
		if to, fits = r.read(i, at); fits || r.dump[at] != lastByte {
			return to, fits
		}
	}
	return 0, false
}

// fits reports whether what stands at i is the byte at of the dump.
func (r *dumpReader) fits(i, at int) bool {
	r.budget -= 2
	if r.budget < 0 || r.ends(i) || hexDigit(r.text[i]) < 0 || r.ends(i+1) {
		return false
	}
	got, isByte := hexByte(r.text[i:])
	return isByte && (!isKnown(r.dump[at]) || r.dump[at] == int16(got))
}

// ends reports whether the text has no byte at i, and notes where one may still come.
func (r *dumpReader) ends(i int) bool {
	if i < len(r.text) {
		return false
	}
	r.cut = r.cut || !r.whole
	return true
}

// blanks returns what follows the blanks at i.
func (r *dumpReader) blanks(i int) int {
	last := behindBlanks(r.text, i)
	if last < i+mostBlanks {
		r.ends(last)
	}
	return last
}

// gap returns where the next byte in the row may stand behind one that ends at i.
func (r *dumpReader) gap(i int) int {
	next, open := behindGap(r.text, i)
	r.cut = r.cut || open && !r.whole
	return next
}

// rowEnd returns where the row behind that of i begins, or 0: a row goes on with a column of letters behind a blank, or is over.
func (r *dumpReader) rowEnd(i int) (next int) {
	if r.ends(i) || !endsRow[r.text[i]] {
		return 0
	}
	last := r.lineEnd(i)
	if r.ends(last) || r.text[last] != '\n' {
		return 0
	}
	return last + 1
}

// narrowEnd is rowEnd for a row of one byte, which ends at i: such a byte is a number like many, so no more may follow than a comma, or
// the letter that the byte is.
func (r *dumpReader) narrowEnd(i int, b byte) (next int) {
	if !r.ends(i) && r.text[i] == ',' {
		i++
	}
	for column := r.blanks(i); column > i && !r.ends(column); column++ {
		i = column
		if !inColumn(r.text[i], b) {
			break
		}
	}
	if !r.ends(i) && r.text[i] == '\r' {
		i++
	}
	if r.ends(i) || r.text[i] != '\n' {
		return 0
	}
	return i + 1
}

// rowStarts are where the first byte of a row at i may stand: behind its blanks, or behind an offset as well. A row of letters may come
// first. The zeros among them are none.
func (r *dumpReader) rowStarts(i int) [4]int {
	first, behind := r.rowStart(i)
	letters := r.letters(i)
	if letters == 0 {
		return [4]int{first, behind}
	}
	below, belowBehind := r.rowStart(letters)
	return [4]int{first, behind, below, belowBehind}
}

func (r *dumpReader) rowStart(i int) (first, behindOffset int) {
	first, open := behindPrefix(r.text, r.blanks(i))
	r.cut = r.cut || open && !r.whole
	return first, r.offset(first)
}

// letters returns where the row ends that od -c prints at i, or 0 where none stands there: blanks, and at most three letters for each byte.
func (r *dumpReader) letters(i int) (next int) {
	if r.ends(i) || r.text[i] != ' ' {
		return 0
	}
	last := r.lineEnd(i)
	if last < len(r.text) && r.text[last] != '\n' || r.ends(last) {
		return 0
	}
	for cell := range bytes.FieldsSeq(r.text[i:last]) {
		if len(cell) > 3 {
			return 0
		}
	}
	return last + 1
}

// lineEnd returns where the line of i ends, or how far one may reach that is a row.
func (r *dumpReader) lineEnd(i int) int {
	last := min(i+mostColumn, len(r.text))
	if length := bytes.IndexByte(r.text[i:last], '\n'); length >= 0 {
		last = i + length
	} else if last < i+mostColumn {
		r.ends(last)
	}
	r.budget -= last - i
	return last
}

// offset returns what follows the offset at i and its blanks, or 0 where none stands there.
func (r *dumpReader) offset(i int) (next int) {
	begin := i
	for i < begin+mostOffset && !r.ends(i) && hexDigit(r.text[i]) >= 0 {
		i++
	}
	if i == begin || r.ends(i) {
		return 0
	}
	if r.text[i] == ':' {
		i++
	}
	if next = r.blanks(i); next == i {
		return 0
	}
	return next
}

// end returns where a dump ends whose last byte ends at i. In its last row of several the column of letters shows the end of the value, so it
// ends with that row; in a single one the column has all of the value, and it is found there by itself. A row of letters below shows it, too.
func (r *dumpReader) end(i int) (to int, fits bool) {
	to = i
	if r.rows > 0 {
		to = r.lineEnd(i)
	}
	if wide := i >= 4 && r.text[i-3] == ' ' && r.text[i-4] == ' '; wide { // only where a letter takes more room than a byte
		row := r.lineEnd(i)
		if !r.ends(row) && r.text[row] == '\n' {
			to = max(to, r.letters(row+1)-1)
		}
	}
	return to, !r.cut
}

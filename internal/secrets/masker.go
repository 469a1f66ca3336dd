package secrets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Masker replaces secrets. It never changes, and may be used by any number of goroutines at once. A nil Masker knows no
// values, but the shapes of common keys.
type Masker struct {
	pairs   [1 << 16]lookFor // the first two bytes of everything that is looked for: nearly all texts end their search here
	firsts  [1 << 8]bool     // the first one, for a text that ends there
	needles [1 << 8][]string // by their first byte, the longest first
	dumps   *dumpIndex
}

// lookFor says which finds may begin with two bytes.
type lookFor uint8

const (
	lookForText lookFor = 1 << iota // a value, or a key by its shape
	lookForDump
)

// plain knows the shapes alone.
var plain = NewMasker()

// NewMasker returns a masker of values. Those that are too short are left out.
func NewMasker(values ...string) *Masker {
	m := &Masker{dumps: &dumpIndex{dumps: map[dumpStart][]dump{}}}
	for _, shape := range shapes {
		m.expect(shape.prefix)
	}
	for _, value := range values {
		for _, form := range forms(value) {
			m.expect(form)
			m.needles[form[0]] = append(m.needles[form[0]], form)
		}
		m.expectDumps(strings.TrimSpace(value))
	}
	for i, bucket := range m.needles {
		slices.SortFunc(bucket, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		m.needles[i] = slices.Compact(bucket)
	}
	return m
}

func (m *Masker) expect(text string) {
	m.pairs[pair(text)] |= lookForText
	m.firsts[text[0]] = true
}

func (m *Masker) expectDumps(value string) {
	if len(value) < MinLength {
		return
	}
	for _, d := range dumps(value) {
		m.dumps.add(d)
		for _, digits := range []string{"%02x", "%02X"} {
			printed := fmt.Sprintf(digits, d[0])
			m.pairs[pair(printed)] |= lookForDump
			m.firsts[printed[0]] = true
		}
	}
}

func pair[T string | []byte](text T) int { return int(text[0])<<8 | int(text[1]) }

func (m *Masker) known() *Masker {
	if m == nil {
		return plain
	}
	return m
}

// next is the next place from i on where something may begin, or the end of the text.
func (m *Masker) next(text []byte, i int, end bool) int {
	for ; i+1 < len(text); i++ {
		if looks := m.pairs[pair(text[i:])]; looks&lookForText != 0 || looks != 0 && m.dumps.mayStart(text, i) {
			return i
		}
	}
	if i < len(text) && !end && m.firsts[text[i]] {
		return i
	}
	return len(text)
}

// find looks for a value and a key that begin at i, a key only where a word may begin or afresh; more is true where that
// cannot be told before more of the text is known.
func (m *Masker) find(text []byte, i int, afresh, end bool) (f find, more bool) {
	f, more = key(text, i, afresh || free(text, i), end)
	to, cut := m.needle(text, i)
	last, open := m.dumped(text, i, end)
	if more || open || cut && !end {
		return find{}, true
	}
	to = max(to, last)
	if to > 0 {
		f.from, f.to = i, max(f.to, to)
	}
	return f, false
}

// needle returns where the longest value that begins at i ends, or 0; cut says that the text ends within a longer one.
func (m *Masker) needle(text []byte, i int) (to int, cut bool) {
	for _, needle := range m.needles[text[i]] {
		fits, ends := holds(text, i, needle)
		if fits {
			return i + len(needle), cut
		}
		cut = cut || ends
	}
	return 0, cut
}

// dumped returns where the longest dump that begins at i ends, or 0; cut says that the text ends before that is known.
func (m *Masker) dumped(text []byte, i int, end bool) (to int, cut bool) {
	for start, known := range m.dumps.starts(text, i) {
		if !known {
			return to, !end
		}
		for _, d := range m.dumps.dumps[start] {
			last, open := d.read(text, i, end)
			to, cut = max(to, last), cut || open
		}
	}
	return to, cut
}

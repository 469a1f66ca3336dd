package secrets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Masker replaces secrets. It may be used by any number of goroutines at once. A nil Masker knows no values, but the shapes of common keys.
type Masker struct {
	index atomic.Pointer[index] // of all values that it knows

	learning sync.Mutex
	values   []string              // those that it was made of
	learned  map[string][][]string // source → its values, the newest last
}

// index finds values in a text. It never changes.
type index struct {
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
var plain = newIndex()

// NewMasker returns a masker of values. Those that are too short are left out.
func NewMasker(values ...string) *Masker {
	m := &Masker{values: values, learned: map[string][][]string{}}
	m.index.Store(newIndex(values...))
	return m
}

// maxVersions is how many values of one source are remembered: a file that rotates does not fill the memory.
const maxVersions = 16

// Learn adds the present values of a source, such as a file. Its earlier values stay known, because they may be on their way still. When Learn returns,
// Mask finds the values, and so does a stream that is made then.
func (m *Masker) Learn(source string, values ...string) {
	m.learning.Lock()
	defer m.learning.Unlock()
	versions := m.learned[source]
	if slices.ContainsFunc(versions, func(known []string) bool { return slices.Equal(known, values) }) {
		return
	}
	m.learned[source] = append(versions[max(0, len(versions)+1-maxVersions):], slices.Clone(values))
	all := slices.Clone(m.values)
	for _, versions := range m.learned {
		all = append(all, slices.Concat(versions...)...)
	}
	slices.Sort(all)
	m.index.Store(newIndex(slices.Compact(all)...))
}

func newIndex(values ...string) *index {
	m := &index{dumps: &dumpIndex{dumps: map[dumpStart][]dump{}}}
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

func (m *index) expect(text string) {
	m.pairs[pair(text)] |= lookForText
	m.firsts[text[0]] = true
}

func (m *index) expectDumps(value string) {
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

func (m *Masker) known() *index {
	if m == nil {
		return plain
	}
	return m.index.Load()
}

// next is the next place from i on where something may begin, or the end of the text.
func (m *index) next(text []byte, i int, end bool) int {
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
func (m *index) find(text []byte, i int, afresh, end bool) (f find, more bool) {
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
func (m *index) needle(text []byte, i int) (to int, cut bool) {
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
func (m *index) dumped(text []byte, i int, end bool) (to int, cut bool) {
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

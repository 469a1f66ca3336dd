package secrets

import (
	"iter"
	"slices"
)

// dumpIndex finds the dumps that may begin at a place of a text, by the first two bytes that each of them prints. There are 30 dumps of
// each value, and a log is full of numbers: to read every dump at every number makes masking a log eight times slower.
type dumpIndex struct {
	dumps map[dumpStart][]dump
	pairs [1 << 16]distances // by the first byte and the second one
	reach [1 << 8]int        // by the first byte: the greatest distance to the second one, 0 where no dump begins with that byte
}

// dumpStart is the first byte that a dump prints, and the next one that belongs to the value. Where they lie in different words, other bytes
// may stand between them.
type dumpStart struct {
	first, second byte
	apart         int // in printed bytes; 1 where nothing stands between them
}

// distances are a set of such distances. Each is the bit of its number; the greatest one is 12.
type distances uint16

func newDumpIndex() *dumpIndex { return &dumpIndex{dumps: map[dumpStart][]dump{}} }

func (x *dumpIndex) add(d dump) {
	second := 1 + slices.IndexFunc(d[1:], isKnown)
	x.reach[d[0]] = max(x.reach[d[0]], second)
	for apart := second; ; apart-- {
		start := dumpStart{byte(d[0]), byte(d[second]), apart}
		x.dumps[start] = append(x.dumps[start], d)
		x.pairs[start.pair()] |= 1 << apart
		if d[apart-1] != lastByte {
			return
		}
	}
}

func (s dumpStart) pair() int { return int(s.first)<<8 | int(s.second) }

// mayStart tells whether a dump may begin at i. Where the text ends too early to tell, one may.
func (x *dumpIndex) mayStart(text []byte, i int) bool {
	for range x.starts(text, i) {
		return true
	}
	return false
}

// starts are the beginnings of dumps that the text has at i. The last one is not known where the text ends before its second byte.
func (x *dumpIndex) starts(text []byte, i int) iter.Seq2[dumpStart, bool] {
	return func(yield func(start dumpStart, known bool) bool) {
		first, isByte := hexByte(text[i:])
		if !isByte {
			if i+1 == len(text) && x.mayStartWith(text[i]) {
				yield(dumpStart{}, false)
			}
			return
		}
		for apart := 1; apart <= x.reach[first]; apart++ {
			i = behindBlanks(text, i+2)
			second, isByte := hexByte(text[i:])
			if !isByte {
				if i == len(text) || i+1 == len(text) && hexDigit(text[i]) >= 0 {
					yield(dumpStart{}, false)
				}
				return
			}
			start := dumpStart{first, second, apart}
			if x.pairs[start.pair()]&(1<<apart) != 0 && !yield(start, true) {
				return
			}
		}
	}
}

// mayStartWith tells whether a dump begins with this digit.
func (x *dumpIndex) mayStartWith(digit byte) bool {
	high := int(hexDigit(digit))
	return high >= 0 && slices.ContainsFunc(x.reach[high<<4:(high+1)<<4], func(apart int) bool { return apart > 0 })
}

// behindBlanks returns where the blanks at i end, or how far a dump may have them.
func behindBlanks(text []byte, i int) int {
	last := min(i+mostBlanks, len(text))
	for i < last && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

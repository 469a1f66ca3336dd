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

// mayStart reports whether a dump may begin at i. Where the text ends too early to tell, one may.
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
		reach := x.reach[first]
		if reach > 0 && mayEndRow(text, i+2, first) {
			seconds, open := nextRow(text, i+2, first)
			for _, second := range seconds {
				start := dumpStart{first, second, 1}
				if x.pairs[start.pair()]&(1<<1) != 0 && !yield(start, true) {
					return
				}
			}
			if open && !yield(dumpStart{}, false) {
				return
			}
		}
		for apart := 1; apart <= reach; apart++ {
			if i += 2; i == len(text) || inGap[text[i]] {
				i, _ = behindGap(text, i)
			}
			second, isByte := hexByte(text[i:])
			if !isByte {
				if endsByte(text, i) {
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

// endsByte reports whether the text ends where a byte may stand at i.
func endsByte(text []byte, i int) bool {
	return i == len(text) || i+1 == len(text) && hexDigit(text[i]) >= 0
}

// nextRow returns the bytes with which the row may begin behind one that has the byte b alone, up to i; open says that the text ends
// before that is known.
func nextRow(text []byte, i int, b byte) (seconds []byte, open bool) {
	r := dumpReader{text: text}
	row := r.narrowEnd(i, b)
	if row == 0 {
		return nil, r.cut
	}
	for _, next := range r.rowStarts(row) {
		if next == 0 {
			continue
		}
		if second, isByte := hexByte(text[next:]); isByte {
			seconds = append(seconds, second)
		} else if endsByte(text, next) {
			r.cut = true
		}
	}
	return seconds, r.cut
}

// mayStartWith reports whether a dump begins with this digit.
func (x *dumpIndex) mayStartWith(digit byte) bool {
	high := int(hexDigit(digit))
	return high >= 0 && slices.ContainsFunc(x.reach[high<<4:(high+1)<<4], func(apart int) bool { return apart > 0 })
}

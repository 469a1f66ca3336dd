package secrets

import "strings"

// mayEndRow reports whether a row with one byte may end at i, or the text does.
func mayEndRow(text []byte, i int, b byte) bool {
	if i >= len(text) || !endsRow[text[i]] {
		return i >= len(text)
	}
	column := behindBlanks(text, i)
	return column == i || column == len(text) || endsRow[text[column]] || inColumn(text[column], b)
}

// endsRow are the bytes that may follow the last byte of a row.
var endsRow = [1 << 8]bool{' ': true, '\t': true, '\r': true, '\n': true, ',': true}

// inColumn reports whether c may stand in the column of letters of a row that has the byte b alone.
func inColumn(c, b byte) bool { return c == b || c == '.' || c == '|' || c == '>' || c == '<' }

// behindBlanks returns where the blanks at i end, or how far a dump may have them.
func behindBlanks(text []byte, i int) int {
	last := min(i+mostBlanks, len(text))
	for i < last && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

// behindGap returns where the gap at i ends that a dump has between two bytes of a row: blanks, a sign such as the colon of 53:33, and with
// what a byte may begin. The gap is open where the text ends before that is known.
func behindGap(text []byte, i int) (next int, open bool) {
	if i < len(text) && !inGap[text[i]] {
		return i, false
	}
	i = behindBlanks(text, i)
	if i < len(text) && isSign[text[i]] {
		i = behindBlanks(text, i+1)
	}
	switch {
	case i == len(text):
		return i, true
	case !beginsPrefix[text[i]]:
		return i, false
	}
	return behindPrefix(text, i)
}

// behindPrefix returns where the prefix at i ends, if one stands there.
func behindPrefix(text []byte, i int) (next int, open bool) {
	if i+1 < len(text) && (!beginsPrefix[text[i]] || text[i] == '0' && text[i+1]|0x20 != 'x') {
		return i, false
	}
	for _, prefix := range prefixes {
		if fits, ends := holds(text, i, prefix); fits || ends {
			return min(i+len(prefix), len(text)), ends || i+len(prefix) == len(text)
		}
	}
	return i, false
}

var isSign = [1 << 8]bool{':': true, ',': true, ';': true, '-': true}

// prefixes are with what a byte begins that is written or escaped by itself.
var prefixes = []string{"0x", "0X", `\x`, `\\x`, "%", "&#x", `\u00`, `\\u00`}

var beginsPrefix = [1 << 8]bool{'0': true, '\\': true, '%': true, '&': true}

// inGap are the bytes with which a gap begins.
var inGap = [1 << 8]bool{' ': true, '\t': true, ':': true, ',': true, ';': true, '-': true, '\\': true, '%': true, '&': true}

// What a dump may have between two of its bytes. Wider rows than any program prints are none.
const (
	mostBlanks = 16  // also before an offset, and behind it
	mostOffset = 16  // digits
	mostColumn = 160 // bytes to the end of a row
)

func hexByte(text []byte) (b byte, isByte bool) {
	if len(text) < 2 {
		return 0, false
	}
	high, low := hexDigits[text[0]], hexDigits[text[1]]
	return byte(high<<4 | low), high|low >= 0
}

// hexDigit is the value of a digit, or -1.
func hexDigit(c byte) int8 { return hexDigits[c] }

var hexDigits = func() (values [1 << 8]int8) {
	for c := range values {
		values[c] = int8(strings.IndexByte("0123456789abcdef", byte(c)))
	}
	copy(values['A':], values['a':'f'+1])
	return values
}()

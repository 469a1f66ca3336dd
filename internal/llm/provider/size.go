package provider

import "strconv"

// MaxAnswerBytes is how long an answer may become: text, thought and arguments together, and what many small pieces cost besides.
const MaxAnswerBytes = 8 << 20

// Size is the bytes of an answer so far.
type Size int

// Grow adds bytes. It returns a [*Error] when the answer has become too large.
func (s *Size) Grow(bytes int) error {
	*s += Size(bytes)
	if *s > MaxAnswerBytes {
		return TooLarge("it is longer than " + strconv.Itoa(MaxAnswerBytes>>20) + " MiB")
	}
	return nil
}

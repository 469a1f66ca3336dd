package secrets

// Stream masks a text that comes in pieces. What it releases is, put together, what [Masker.Mask] makes of the pieces
// put together, wherever the cuts are.
//
// It holds back only the end of what it was given, where that may be the beginning of something: as many bytes as the
// longest value has, and [horizon] where it looks like a key. What turns out to be a key is masked at once, and its rest
// swallowed for as long as it goes on. A Stream belongs to one goroutine.
type Stream struct {
	walk walk
}

// NewStream returns a stream for one text.
func NewStream(m *Masker) *Stream { return &Stream{walk: walk{masker: m.known()}} }

// Write takes the next piece, and returns the text that may be shown now. Where nothing is held back or hidden, it returns the
// piece itself, without an allocation.
func (s *Stream) Write(piece string) (release string) {
	s.walk.text = append(s.walk.text, piece...)
	return s.advance(piece, false)
}

// Close returns the text that was held back. The stream may then take another text.
func (s *Stream) Close() (rest string) {
	rest = s.advance("", true)
	*s = Stream{walk: walk{masker: s.walk.masker}}
	return rest
}

func (s *Stream) advance(piece string, end bool) string {
	w := &s.walk
	w.out = w.out[:0]
	w.scan(end)
	w.settle()
	s.forget()
	if string(w.out) == piece {
		return piece
	}
	return string(w.out)
}

// forget lets go of what was looked at, but for what reports whether a word may begin after it.
func (s *Stream) forget() {
	const before = 2
	w := &s.walk
	gone := w.at - before
	if gone <= 0 {
		return
	}
	w.text = append(w.text[:0], w.text[gone:]...)
	w.at, w.done, w.from = w.at-gone, w.done-gone, w.from-gone
	w.to, w.last = max(w.to-gone, 0), w.last-gone
	for i := range w.growing {
		w.growing[i].at -= gone
	}
}

package secrets

// walk goes once through a text that may still grow, and writes it without what it finds. Finds that overlap become one.
type walk struct {
	masker *index
	text   []byte
	at     int // what begins before has been looked for

	from, to int      // the find under way; to is 0 where there is none
	shown    bool     // its place in out is taken
	last     int      // where the last find ends: a key may begin there, as after a space
	growing  []growth // those of which the find consists that may still grow

	out  []byte
	done int // how much of the text is in out, or hidden
}

// scan finds all secrets that begin in the text, up to the place where more text is needed.
func (w *walk) scan(end bool) {
	w.grow(end)
	for limit := w.limit(); w.at < limit; w.at++ {
		if w.at = w.masker.next(w.text[:limit], w.at, end); w.at == limit {
			return
		}
		f, more := w.masker.find(w.text, w.at, w.at == w.last, end)
		if more {
			return
		}
		if f.to > 0 {
			w.take(f)
			limit = w.limit()
		}
	}
}

// grow takes up the finds that the text ended in before it grew.
func (w *walk) grow(end bool) {
	growing := w.growing[:0]
	for _, g := range w.growing {
		g.at, g.by = g.by.grow(w.text, g.at, end)
		w.to = max(w.to, g.at)
		w.last = w.to
		if g.by != nil {
			growing = append(growing, g)
		}
	}
	w.growing = growing
}

// limit is how far may be looked: not beyond a find that waits to see whether it goes on.
func (w *walk) limit() int {
	limit := len(w.text)
	for _, g := range w.growing {
		limit = min(limit, g.at)
	}
	return limit
}

func (w *walk) take(f find) {
	if w.to > 0 && w.at >= w.to {
		w.hide()
	}
	if w.to == 0 {
		w.from, w.to = f.from, f.to
	} else {
		w.from, w.to = min(w.from, f.from), max(w.to, f.to)
	}
	w.last = w.to
	if f.growth.by != nil {
		w.growing = append(w.growing, f.growth)
	}
}

// hide ends the find under way.
func (w *walk) hide() {
	w.show()
	w.done, w.to, w.shown = w.to, 0, false
}

// show writes the mask of the find under way.
func (w *walk) show() {
	if !w.shown {
		w.out = append(append(w.out, w.text[w.done:w.from]...), Masked...)
		w.shown = true
	}
}

// settle writes all that is certain.
func (w *walk) settle() {
	if w.to > 0 && w.at >= w.to && len(w.growing) == 0 {
		w.hide()
	}
	switch {
	case w.to == 0:
		w.out = append(w.out, w.text[w.done:w.at]...)
	case w.at >= w.from:
		w.show()
	default: // the find begins with a prefix that stays, and a value may begin within that
		w.out = append(w.out, w.text[w.done:w.at]...)
	}
	w.done = w.at
}

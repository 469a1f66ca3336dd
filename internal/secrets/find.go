package secrets

// find is a secret in a text.
type find struct {
	from, to int
	growth   growth // of a find that the text ends in
}

// growth is a find whose end has not been seen yet.
type growth struct {
	at int // it reaches up to here, and the rest is not read yet
	by grower
}

// grower continues a find.
type grower interface {
	// grow returns the end of the find, or its end so far and the grower that continues when more of the text is known. With end
	// nothing follows the text, and next is nil.
	grow(text []byte, i int, end bool) (to int, next grower)
}

// grown is a find from i on, that is known up to to.
func grown(i int, text []byte, to int, end bool, by grower) find {
	to, next := by.grow(text, to, end)
	return find{from: i, to: to, growth: growth{at: to, by: next}}
}

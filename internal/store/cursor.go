package store

import (
	"encoding/base64"
	"strconv"
	"strings"

	"signoff/internal/domain"
)

// Page is a piece of a list. Next leads to the following piece; it is empty on the last one.
type Page[T any] struct {
	Items []T
	Next  string
}

const (
	defaultLimit = 50
	maxLimit     = 500
)

// pageLimit is how many items a page has.
func pageLimit(wanted int) int {
	if wanted <= 0 {
		return defaultLimit
	}
	return min(wanted, maxLimit)
}

// cursor is the place of an item in a list that is ordered by a time and an id. It names the item, not a count, so
// pages neither repeat nor skip what was there from the start, whatever is added meanwhile.
type cursor struct {
	list string // which kind of list it belongs to
	us   int64
	id   string
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.list + ":" + strconv.FormatInt(c.us, 10) + ":" + c.id))
}

func parseCursor(list, opaque string) (cursor, error) {
	malformed := domain.Errorf(domain.CodeMalformed, "The cursor is not one that this list gave out.")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(opaque)
	if err != nil {
		return cursor{}, malformed.With(err)
	}
	parts := strings.SplitN(string(raw), ":", 3)
	if len(parts) != 3 || parts[0] != list || parts[2] == "" || parts[2] != text(parts[2]) {
		return cursor{}, malformed
	}
	us, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return cursor{}, malformed.With(err)
	}
	c := cursor{list: list, us: us, id: parts[2]}
	if c.String() != opaque { // the decoder passes over line breaks, the parser over a plus sign
		return cursor{}, malformed
	}
	return c, nil
}

// page cuts items, which were read with one more than limit, and puts the cursor of the last one kept.
func page[T any](items []T, limit int, place func(T) cursor) Page[T] {
	if len(items) <= limit {
		return Page[T]{Items: items}
	}
	items = items[:limit]
	return Page[T]{Items: items, Next: place(items[limit-1]).String()}
}

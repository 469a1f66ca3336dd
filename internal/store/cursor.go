package store

import (
	"context"
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

// listing is a list that is read page by page.
type listing[T any] struct {
	name  string // in cursors and errors
	place string // the columns of time and id that order it
	desc  bool   // the newest first
	scan  func(scanner) (T, error)
	of    func(T) (us int64, id string) // the place of an item
}

// page reads the items behind a cursor that the conditions choose, and one more to see whether a page follows.
func (l listing[T]) page(ctx context.Context, s *Store, selectFrom string, where conditions, after string, limit int) (Page[T], error) {
	compare, order := ">", l.place
	if l.desc {
		compare, order = "<", strings.ReplaceAll(l.place, ",", " desc,")+" desc"
	}
	if after != "" {
		c, err := parseCursor(l.name, after)
		if err != nil {
			return Page[T]{}, err
		}
		where.add(`(`+l.place+`) `+compare+` ($%d, $%d)`, c.us, c.id)
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	where.add(`true order by `+order+` limit $%d`, limit+1)
	items, err := selectAll(ctx, s, "list "+l.name, l.scan, selectFrom+` where `+where.String(), where.args...)
	if len(items) <= limit {
		return Page[T]{Items: items}, err
	}
	us, id := l.of(items[limit-1])
	return Page[T]{Items: items[:limit], Next: cursor{l.name, us, id}.String()}, nil
}

package store

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"signoff/internal/domain"
)

// FeedCursor is the place of an event in the feed of its tenant. The zero value is the place before the first one.
type FeedCursor struct {
	Key      int64 // of the change
	Position int64 // of the change among those of its key
	Seq      int64 // of the event in its execution
}

// feedCursorForm has a version in front: what clients keep must not be taken for something else by a later server.
const feedCursorForm = "1.%d.%d.%d"

// String is how clients see a cursor: a text that says nothing to them.
func (c FeedCursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, feedCursorForm, c.Key, c.Position, c.Seq))
}

// ParseFeedCursor reads what String wrote, and nothing else: anything else is domain.CodeMalformed.
func ParseFeedCursor(opaque string) (c FeedCursor, err error) {
	malformed := domain.Errorf(domain.CodeMalformed, "The cursor is not one that the merged stream gave out.")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(opaque)
	if err != nil {
		return FeedCursor{}, malformed.With(err)
	}
	if _, err := fmt.Sscanf(string(raw), feedCursorForm, &c.Key, &c.Position, &c.Seq); err != nil {
		return FeedCursor{}, malformed.With(err)
	}
	if min(c.Key, c.Position, c.Seq) < 0 || c.String() != opaque { // Sscanf passes over what follows, and over plus signs
		return FeedCursor{}, malformed
	}
	return c, nil
}

// Compare orders cursors as the feed does.
func (c FeedCursor) Compare(other FeedCursor) int {
	return cmp.Or(cmp.Compare(c.Key, other.Key), cmp.Compare(c.Position, other.Position), cmp.Compare(c.Seq, other.Seq))
}

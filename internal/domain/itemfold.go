package domain

import "encoding/json"

// ItemFold is how far the items of an execution are stored, so that a page of them needs only the events behind it.
type ItemFold struct {
	Version int64           // of the code that made it; that of another version is not to be gone on from
	Seq     int64           // the events up to here are in the rows; 0: nothing is stored
	Items   int64           // there is a row for each place below it
	State   json.RawMessage // what is known beside the items
}

// ItemRow is one item as it is stored.
type ItemRow struct {
	Place int64           // in the list of items, from 0
	Key   string          // rows that the same events change have the same
	State json.RawMessage // the item, and what else has to be known to go on with it
}

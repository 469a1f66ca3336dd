package sessions

import (
	"context"
	"errors"
	"time"
)

// claim is the right to drive an execution.
type claim struct {
	epoch int64
	lease context.Context // ends when this replica may not write any more
}

// reading returns the context of a query. It ends with the lease: nobody needs a later answer.
func (c claim) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.lease, readTimeout)
}

// readTimeout ends a query that the database does not answer.
const readTimeout = 10 * time.Second

var errOver = errors.New("sessions: the session is over")

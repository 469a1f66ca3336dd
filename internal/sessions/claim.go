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

// reading is the context of a query: it ends with the lease, since what comes later is nobody's business here.
func (c claim) reading() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.lease, readTimeout)
}

// readTimeout gives a query up that the database does not answer.
const readTimeout = 10 * time.Second

var errOver = errors.New("sessions: the session is over")

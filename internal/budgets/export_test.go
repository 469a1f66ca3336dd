package budgets

import "time"

// SetClock sets the time of day.
func (l *Ledger) SetClock(now func() time.Time) { l.now = now }

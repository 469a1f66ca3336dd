package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"signoff/internal/domain"
)

// rateKey is what the creations of one limit have in common.
type rateKey struct{ tenant, target string }

// takenRate is the row of a limit, locked until the transaction ends, and the clock of the database behind the wait for the lock.
type takenRate struct {
	rateKey
	created []int64
	now     int64
}

// takeRates counts the creations that have a limit, and refuses those over it. It comes behind the idempotency keys, so a repeated request gets its
// first answer whatever the limit says, and before anything else, so that a transaction that waits for a row holds only keys. Creations without a limit take no
// statement.
func (b *batch) takeRates() error {
	changes := map[rateKey][]int{}
	for i, c := range b.live {
		if c.Create != nil && c.Create.Limit != nil {
			key := rateKey{text(string(c.Create.Execution.Tenant)), text(c.Create.Limit.Target)}
			changes[key] = append(changes[key], i)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	rates, err := b.lockRates(changes)
	if err != nil {
		return err
	}
	var counted []row
	for _, rate := range rates {
		until := b.count(&rate, changes[rate.rateKey])
		counted = append(counted, row{values: []any{rate.tenant, rate.target, string(domain.Encode(rate.created)), until}})
	}
	if b.again { // the transaction starts anew
		return nil
	}
	err = b.insert(`tenant text, target text, created text, until bigint`, counted, `
		update creation_rates as r set created = v.created, until_us = v.until from v where r.tenant_id = v.tenant and r.target = v.target`)
	if err != nil {
		return err
	}
	return b.forgetRates(len(rates))
}

// lockRates inserts or locks the rows, in one order for all replicas.
func (b *batch) lockRates(changes map[rateKey][]int) ([]takenRate, error) {
	var rows []row
	for key := range changes {
		rows = append(rows, row{values: []any{key.tenant, key.target}})
	}
	slices.SortFunc(rows, func(x, y row) int { // the order of the locks
		return cmp.Or(cmp.Compare(x.values[0].(string), y.values[0].(string)), cmp.Compare(x.values[1].(string), y.values[1].(string)))
	})
	return ask(b, `tenant text, target text`, rows, func(row scanner) (rate takenRate, err error) {
		var created string
		if err := row.Scan(&rate.tenant, &rate.target, &created, &rate.now); err != nil {
			return rate, err
		}
		return rate, json.Unmarshal([]byte(created), &rate.created)
	}, `
		insert into creation_rates (tenant_id, target, created, until_us) select tenant, target, '[]', 0 from v where true order by tenant, target
		on conflict (tenant_id, target) do update set until_us = creation_rates.until_us
		returning tenant_id, target, created, now_us()`)
}

// count adds the creations to the rate, refuses those for which there is no room, and returns when the newest of the rate leaves the window.
func (b *batch) count(rate *takenRate, changes []int) (until int64) {
	var window int64
	for _, i := range changes {
		limit := b.changes[i].Create.Limit
		window = limit.Window.Microseconds()
		rate.created = slices.DeleteFunc(rate.created, func(at int64) bool { return at+window <= rate.now })
		if over := len(rate.created) - limit.Count; over >= 0 {
			b.refuse(i, tooOften(limit, rate.created[over]+window-rate.now))
			continue
		}
		rate.created = append(rate.created, rate.now)
	}
	if n := len(rate.created); n > 0 {
		return rate.created[n-1] + window
	}
	return rate.now
}

func tooOften(limit *RateLimit, micros int64) error {
	err := domain.Errorf(domain.CodeRateLimited, "There were %d of these for the same runbook or document within %v; try again later.", limit.Count, limit.Window)
	err.RetryAfter = min(time.Duration(micros)*time.Microsecond, limit.Window) // the clock may have been set back
	return err
}

// forgetRates removes rows that no creation has touched for longer than their window: two for each that is written, so there are never many. It
// passes over locked rows: two transactions could wait for each other here.
func (b *batch) forgetRates(written int) error {
	return b.tx.later(`
		delete from creation_rates where (tenant_id, target) in (
			select tenant_id, target from creation_rates where until_us <= (select now_us()) order by until_us limit $1`+b.store.dialect.skipLocked+`)`,
		int64(2*written))
}

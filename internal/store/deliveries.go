package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"signoff/internal/domain"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
)

// Delivery is one message to a webhook, with the newest of its attempts.
type Delivery struct {
	Webhook   string
	ID        string // the same for all attempts
	Tenant    domain.TenantID
	Type      string
	Body      json.RawMessage
	Execution domain.ExecutionID
	Created   time.Time
	Due       *time.Time // of a pending one; nil: not before its webhook is enabled
	State     DeliveryState
	Begun     int // attempts
	Before    int // of those, the ones before it was sent anew
	Attempts  []Attempt
}

// Attempt is one request and its result.
type Attempt struct {
	N        int
	Time     time.Time
	Status   int // of the answer; 0: there was none
	Error    string
	Duration time.Duration
}

// AttemptsShown is how many attempts a delivery is read with.
const AttemptsShown = 20

const deliveryColumns = `webhook_id, id, tenant_id, type, body, execution_id, created_us, due_us, state, attempts, before`

func scanDelivery(row scanner) (d Delivery, err error) {
	var (
		body         string
		execution    sql.NullString
		created, due int64
	)
	err = row.Scan(&d.Webhook, &d.ID, &d.Tenant, &d.Type, &body, &execution, &created, &due, &d.State, &d.Begun, &d.Before)
	d.Body, d.Execution, d.Created = json.RawMessage(body), domain.ExecutionID(execution.String), timeOf(created)
	if d.State == DeliveryPending && due != never {
		d.Due = new(timeOf(due))
	}
	return d, err
}

// Deliveries lists those of a webhook, the newest first.
func (s *Store) Deliveries(
	ctx context.Context, tenant domain.TenantID, webhook string, state DeliveryState, after string, limit int,
) (Page[Delivery], error) {
	if _, err := s.Webhook(ctx, tenant, webhook); err != nil {
		return Page[Delivery]{}, err
	}
	var where conditions
	where.add(`webhook_id = $%d and tenant_id = $%d`, text(webhook), text(string(tenant)))
	if state != "" {
		where.add(`state = $%d`, string(state))
	}
	found, err := deliveryList.page(ctx, s, `select `+deliveryColumns+` from webhook_deliveries`, where, after, limit)
	if err != nil {
		return found, err
	}
	return found, s.addAttempts(ctx, webhook, found.Items)
}

var deliveryList = listing[Delivery]{
	name: "deliveries", place: "created_us, id", desc: true, scan: scanDelivery,
	of: func(d Delivery) (int64, string) { return d.Created.UnixMicro(), d.ID },
}

// placedAttempt is an attempt, and whose it is.
type placedAttempt struct {
	delivery string
	Attempt
}

func scanAttempt(row scanner) (a placedAttempt, err error) {
	var at, took int64
	err = row.Scan(&a.delivery, &a.N, &at, &a.Status, &a.Error, &took)
	a.Time, a.Duration = timeOf(at), time.Duration(took)*time.Microsecond
	return a, err
}

func (s *Store) addAttempts(ctx context.Context, webhook string, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	places := make(map[string]*Delivery, len(deliveries))
	wanted := list{columns: columns("webhook text, delivery text, beyond bigint")}
	for i := range deliveries {
		d := &deliveries[i]
		places[d.ID] = d
		wanted.rows = append(wanted.rows, []any{text(webhook), d.ID, int64(d.Begun - AttemptsShown)})
	}
	with, args := s.dialect.with(wanted)
	attempts, err := collect(ctx, s.read, scanAttempt, with+`
		select a.delivery_id, a.n, a.time_us, a.status, a.error, a.duration_us
		from v join webhook_attempts a on a.webhook_id = v.webhook and a.delivery_id = v.delivery and a.n > v.beyond
		order by a.delivery_id, a.n`, args...)
	if err != nil {
		return s.failed("read attempts", err)
	}
	for _, a := range attempts {
		places[a.delivery].Attempts = append(places[a.delivery].Attempts, a.Attempt)
	}
	return nil
}

// AddDelivery writes a delivery without an event, due at once.
func (s *Store) AddDelivery(ctx context.Context, d Delivery) error {
	_, err := s.exec(ctx, "write a delivery", `
		insert into webhook_deliveries (webhook_id, id, tenant_id, type, body, created_us, state, due_us, attempts, before)
		values ($1, $2, $3, $4, $5, now_us(), 'pending', now_us(), 0, 0) on conflict (webhook_id, id) do nothing`,
		text(d.Webhook), text(d.ID), text(string(d.Tenant)), text(d.Type), text(string(d.Body)))
	return err
}

// Redeliver lets a delivery begin anew, whatever became of it and appends the audit record. One that is being sent at the moment is sent twice:
// each redelivery moves Before on, so that the attempt under way does not count any more.
func (s *Store) Redeliver(ctx context.Context, tenant domain.TenantID, webhook, id string, record domain.AuditRecord) (Delivery, error) {
	var d Delivery
	err := s.onWebhook(ctx, "redeliver", tenant, webhook, record, func(tx *sql.Tx) (err error) {
		d, err = one(ctx, tx, scanDelivery, `
			update webhook_deliveries set state = 'pending', due_us = now_us(), before = attempts
			where webhook_id = $1 and id = $2 returning `+deliveryColumns, text(webhook), text(id))
		return s.found(err, "delivery")
	})
	if err != nil {
		return d, err
	}
	all := []Delivery{d}
	err = s.addAttempts(ctx, webhook, all)
	return all[0], err
}

// DueWebhook is one to whom something is to be sent, and whose it is.
type DueWebhook struct {
	ID     string
	Tenant domain.TenantID
}

// DueWebhooks are those to whom something is to be sent now.
func (s *Store) DueWebhooks(ctx context.Context) ([]DueWebhook, error) {
	return selectAll(ctx, s, "read which webhooks are due", func(row scanner) (w DueWebhook, err error) { return w, row.Scan(&w.ID, &w.Tenant) }, `
		select w.id, w.tenant_id from webhooks w where w.disabled_us is null and exists (
			select 1 from webhook_deliveries d where d.webhook_id = w.id and d.state = 'pending' and d.due_us <= now_us())`)
}

// ClaimDeliveries begins an attempt of up to limit due deliveries of a webhook, the oldest first. Two callers never get the
// same, until visible is over: whoever has not said by then what came of the attempt has died, and somebody else sends it again.
// Of a webhook that is disabled or gone it claims nothing.
func (s *Store) ClaimDeliveries(ctx context.Context, webhook string, limit int, visible time.Duration) (w Webhook, claimed []Delivery, err error) {
	err = s.transact(ctx, "claim deliveries", func(tx *sql.Tx) error {
		found, err := collect(ctx, tx, scanWebhook,
			`select `+webhookColumns+` from webhooks where id = $1 and disabled_us is null`, text(webhook))
		if err != nil || len(found) == 0 {
			claimed = nil
			return err
		}
		w = found[0]
		// Asked twice: Postgres chooses from a snapshot, and asks again of a row that somebody has changed since.
		claimed, err = collect(ctx, tx, scanDelivery, `
			with chosen as materialized (
				select id from webhook_deliveries where webhook_id = $1 and state = 'pending' and due_us <= now_us()
				order by due_us, id limit $2`+s.dialect.skipLocked+`)
			update webhook_deliveries set attempts = attempts + 1, due_us = now_us() + $3
			where webhook_id = $1 and id in (select id from chosen) and state = 'pending' and due_us <= now_us()
			returning `+deliveryColumns, text(webhook), limit, visible.Microseconds())
		return err
	})
	return w, claimed, err
}

// Attempted is what came of an attempt that was claimed.
type Attempted struct {
	Delivery Delivery // as it was claimed
	Attempt  Attempt  // N is given here
	State    DeliveryState
	Wait     time.Duration // of one that stays pending, until the next attempt
	Gone     string        // why the webhook is disabled from now on; or empty
}

// FinishAttempt stores the result of an attempt. A late result, after the next attempt has begun, changes the delivery only if it was delivered. A
// result from before a redelivery changes nothing: a client was promised that redelivery, and a failure would end it or delay it for hours.
func (s *Store) FinishAttempt(ctx context.Context, a Attempted) error {
	d := a.Delivery
	return s.transact(ctx, "keep an attempt", func(tx *sql.Tx) error {
		kept, err := collect(ctx, tx, scanValue[string], `
			update webhook_deliveries set
				state = case when state = 'pending' and before = $6 and ($3 = 'delivered' or attempts = $4) then $3 else state end,
				due_us = case when state = 'pending' and before = $6 and attempts = $4 then now_us() + $5 else due_us end
			where webhook_id = $1 and id = $2 returning id`,
			text(d.Webhook), text(d.ID), string(a.State), d.Begun, a.Wait.Microseconds(), d.Before)
		if err != nil || len(kept) == 0 { // its webhook was deleted
			return err
		}
		_, err = tx.ExecContext(ctx, `
			insert into webhook_attempts (webhook_id, delivery_id, n, tenant_id, time_us, status, error, duration_us)
			values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (webhook_id, delivery_id, n) do nothing`,
			text(d.Webhook), text(d.ID), d.Begun, text(string(d.Tenant)), a.Attempt.Time.UnixMicro(), a.Attempt.Status,
			text(a.Attempt.Error), a.Attempt.Duration.Microseconds())
		if err != nil || a.Gone == "" {
			return err
		}
		return s.disable(ctx, tx, d.Webhook, a.Gone)
	})
}

// disable postpones the deliveries of a webhook until it is enabled again.
func (s *Store) disable(ctx context.Context, tx *sql.Tx, webhook, because string) error {
	_, err := tx.ExecContext(ctx, `
		update webhooks set disabled_us = now_us(), disabled_because = $2 where id = $1 and disabled_us is null`,
		text(webhook), text(because))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		update webhook_deliveries set due_us = `+neverText+` where webhook_id = $1 and state = 'pending'`, text(webhook))
	return err
}

// ReturnDelivery undoes a claim whose attempt did not happen because the server stops: any server may claim it at once. A delivery that was
// redelivered meanwhile is due already and keeps its number: a number given twice would confuse two redeliveries.
func (s *Store) ReturnDelivery(ctx context.Context, d Delivery) error {
	_, err := s.exec(ctx, "give a delivery back", `
		update webhook_deliveries set due_us = now_us(), attempts = attempts - 1
		where webhook_id = $1 and id = $2 and attempts = $3 and before = $4 and state = 'pending'`,
		text(d.Webhook), text(d.ID), d.Begun, d.Before)
	return err
}

// ForgetDeliveries removes up to limit deliveries that are over and older than age, and what was written for a webhook at the very moment of its
// end. It returns how many.
func (s *Store) ForgetDeliveries(ctx context.Context, age time.Duration, limit int) (int, error) {
	var gone int
	err := s.transact(ctx, "forget deliveries", func(tx *sql.Tx) error {
		old, err := collect(ctx, tx, scanDelivery, `
			select `+deliveryColumns+` from webhook_deliveries
			where (state <> 'pending' and created_us < now_us() - $1) or webhook_id not in (select id from webhooks)
			order by webhook_id, id limit $2`+s.dialect.skipLocked, age.Microseconds(), limit)
		if gone = len(old); err != nil || gone == 0 {
			return err
		}
		named := list{columns: columns("webhook text, delivery text")}
		for _, d := range old {
			named.rows = append(named.rows, []any{d.Webhook, d.ID})
		}
		with, args := s.dialect.with(named)
		for table, key := range map[string]string{"webhook_attempts": "delivery_id", "webhook_deliveries": "id"} {
			statement := with + ` delete from ` + table + ` where (webhook_id, ` + key + `) in (select webhook, delivery from v)`
			if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"signoff/internal/domain"
)

// Webhook is an address that gets notifications of its tenant's events.
type Webhook struct {
	ID          string
	Tenant      domain.TenantID
	URL         string
	Description string
	Types       []domain.EventType // nil: all
	Links       bool               // requests for approval come with a link that decides
	Secret      string             // it signs
	Previous    string             // the secret before, as long as it signs, too; or empty
	Created     time.Time
	By          domain.Actor

	Disabled        *time.Time // nothing is sent
	DisabledBecause string
}

const webhookColumns = `id, tenant_id, url, description, types, links, secret,
	case when previous_until_us > now_us() then previous end, created_us, by, disabled_us, disabled_because`

func scanWebhook(row scanner) (w Webhook, err error) {
	var (
		types, previous sql.NullString
		by              string
		links, created  int64
		disabled        sql.NullInt64
	)
	err = row.Scan(&w.ID, &w.Tenant, &w.URL, &w.Description, &types, &links, &w.Secret, &previous, &created, &by, &disabled,
		&w.DisabledBecause)
	if err != nil {
		return w, err
	}
	w.Links, w.Previous, w.Created, w.Disabled = links == 1, previous.String, timeOf(created), optionalTime(disabled)
	return w, errors.Join(decodeOptional("types", types, &w.Types), decode("by", by, &w.By))
}

// CreateWebhook stores a webhook and appends the audit record. Where the tenant has limit of them already it is refused as
// domain.CodeConflict.
func (s *Store) CreateWebhook(ctx context.Context, w Webhook, limit int, record domain.AuditRecord) error {
	by, err := encode(w.By)
	if err != nil {
		return err
	}
	var types any
	if w.Types != nil {
		if types, err = encode(w.Types); err != nil {
			return err
		}
	}
	return s.transact(ctx, "create a webhook", func(tx *sql.Tx) error {
		// The end of the audit is taken first: two who create at once count one after the other.
		if err := s.appendAudit(ctx, tx, w.Tenant, record); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `
			insert into webhooks (id, tenant_id, url, description, types, links, secret, created_us, by)
			select $1, $2, $3, $4, $5, $6, $7, $8, $9
			where (select count(*) from webhooks where tenant_id = $2) < `+strconv.Itoa(limit),
			text(w.ID), text(string(w.Tenant)), text(w.URL), text(w.Description), types, flag(w.Links), text(w.Secret),
			w.Created.UnixMicro(), by)
		if err != nil {
			return err
		}
		if created, err := result.RowsAffected(); err != nil || created == 1 {
			return err
		}
		return domain.Errorf(domain.CodeConflict, "There are %d webhooks already, and no more may be; delete one first.", limit)
	})
}

// Webhook returns one. One of another tenant is not found.
func (s *Store) Webhook(ctx context.Context, tenant domain.TenantID, id string) (Webhook, error) {
	w, err := one(ctx, s.read, scanWebhook, selectWebhook, text(id), text(string(tenant)))
	return w, s.found(err, "webhook")
}

const selectWebhook = `select ` + webhookColumns + ` from webhooks where id = $1 and tenant_id = $2`

// Webhooks lists those of a tenant, the oldest first.
func (s *Store) Webhooks(ctx context.Context, tenant domain.TenantID) ([]Webhook, error) {
	return selectAll(ctx, s, "list webhooks", scanWebhook,
		`select `+webhookColumns+` from webhooks where tenant_id = $1 order by created_us, id`, text(string(tenant)))
}

// DeleteWebhook removes a webhook with its deliveries and appends the audit record.
func (s *Store) DeleteWebhook(ctx context.Context, tenant domain.TenantID, id string, record domain.AuditRecord) error {
	return s.onWebhook(ctx, "delete a webhook", tenant, id, record, func(tx *sql.Tx) error {
		for _, statement := range []string{
			`delete from webhook_attempts where webhook_id = $1`,
			`delete from webhook_deliveries where webhook_id = $1`,
			`delete from webhooks where id = $1`,
		} {
			if _, err := tx.ExecContext(ctx, statement, text(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RotateWebhook gives a webhook another secret and appends the audit record. The one before signs beside it for a while.
func (s *Store) RotateWebhook(
	ctx context.Context, tenant domain.TenantID, id, secret string, both time.Duration, record domain.AuditRecord,
) error {
	return s.onWebhook(ctx, "rotate the secret of a webhook", tenant, id, record, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			update webhooks set previous = secret, secret = $2, previous_until_us = now_us() + $3 where id = $1`,
			text(id), text(secret), both.Microseconds())
		return err
	})
}

// EnableWebhook enables a webhook, with its pending deliveries and appends the audit record.
func (s *Store) EnableWebhook(ctx context.Context, tenant domain.TenantID, id string, record domain.AuditRecord) error {
	return s.onWebhook(ctx, "enable a webhook", tenant, id, record, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `update webhooks set disabled_us = null, disabled_because = '' where id = $1`, text(id))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			update webhook_deliveries set due_us = now_us() where webhook_id = $1 and state = 'pending' and due_us = `+neverText, text(id))
		return err
	})
}

// onWebhook does something with a webhook of the tenant and appends the audit record, both or neither.
func (s *Store) onWebhook(
	ctx context.Context, doing string, tenant domain.TenantID, id string, record domain.AuditRecord, do func(tx *sql.Tx) error,
) error {
	return s.audited(ctx, doing, tenant, record, func(tx *sql.Tx) error {
		_, err := one(ctx, tx, scanValue[string], `select id from webhooks where id = $1 and tenant_id = $2`+s.dialect.lock,
			text(id), text(string(tenant)))
		if err := s.found(err, "webhook"); err != nil {
			return err
		}
		return do(tx)
	})
}

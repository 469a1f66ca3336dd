package store

import (
	"context"
	"database/sql"
	"time"

	"signoff/internal/domain"
)

// Key is an API key as it is stored: never the secret, only its hash.
type Key struct {
	ID       string
	Tenant   domain.TenantID
	Name     string
	Hash     []byte
	Scopes   []string
	Created  time.Time
	Expires  *time.Time // nil: never
	Revoked  *time.Time
	LastUsed *time.Time // to the minute
}

const keyColumns = `id, tenant_id, name, hash, scopes, created_us, expires_us, revoked_us, last_used_us`

func scanKey(row scanner) (Key, error) {
	var (
		key                    Key
		scopes                 string
		created                int64
		expires, revoked, used sql.NullInt64
	)
	err := row.Scan(&key.ID, &key.Tenant, &key.Name, &key.Hash, &scopes, &created, &expires, &revoked, &used)
	if err != nil {
		return key, err
	}
	key.Created, key.Expires, key.Revoked, key.LastUsed = timeOf(created), optionalTime(expires), optionalTime(revoked), optionalTime(used)
	return key, decode("scopes", scopes, &key.Scopes)
}

// CreateKey stores a new key; an id that is taken is a conflict.
func (s *Store) CreateKey(ctx context.Context, key Key) error {
	scopes, err := encode(append([]string{}, key.Scopes...))
	if err != nil {
		return err
	}
	changed, err := s.exec(ctx, "create a key", `
		insert into api_keys (`+keyColumns+`) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do nothing`,
		text(key.ID), text(string(key.Tenant)), text(key.Name), key.Hash, scopes, key.Created.UnixMicro(),
		micros(key.Expires), micros(key.Revoked), micros(key.LastUsed))
	if err == nil && changed == 0 {
		return domain.Errorf(domain.CodeConflict, "There is a key with this id.")
	}
	return err
}

// Keys lists the keys of a tenant, the oldest first, also those that do not hold any more.
func (s *Store) Keys(ctx context.Context, tenant domain.TenantID) ([]Key, error) {
	return selectAll(ctx, s, "list keys", scanKey,
		`select `+keyColumns+` from api_keys where tenant_id = $1 order by created_us, id`, text(string(tenant)))
}

// KeyByID finds the key that a request names, of whatever tenant, also one that does not hold any more.
func (s *Store) KeyByID(ctx context.Context, id string) (Key, error) {
	key, err := one(ctx, s.read, scanKey, `select `+keyColumns+` from api_keys where id = $1`, text(id))
	return key, s.found(err, "key")
}

// HasKeys reports whether any key was ever created.
func (s *Store) HasKeys(ctx context.Context) (bool, error) {
	some, err := collect(ctx, s.read, scanValue[string], `select id from api_keys limit 1`)
	if err != nil {
		return false, s.failed("look for keys", err)
	}
	return len(some) > 0, nil
}

// RevokeKey ends a key for good. Revoking it again changes nothing.
func (s *Store) RevokeKey(ctx context.Context, tenant domain.TenantID, id string) error {
	changed, err := s.exec(ctx, "revoke a key", `
		update api_keys set revoked_us = coalesce(revoked_us, now_us()) where id = $1 and tenant_id = $2`,
		text(id), text(string(tenant)))
	if err == nil && changed == 0 {
		return notFound("key")
	}
	return err
}

// TouchKey notes that a key was used. It writes at most once a minute, whatever the traffic.
func (s *Store) TouchKey(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "touch a key", `
		update api_keys set last_used_us = now_us()
		where id = $1 and (last_used_us is null or last_used_us < now_us() - 60000000)`, text(id))
	return err
}

package store

import (
	"context"
	"database/sql"
	"time"

	"signoff/internal/domain"
)

const credentialColumns = `tenant_id, server, issuer, resource, client_id, sealed, updated_us, refused_us` //nolint:gosec // the names of columns

func scanCredential(row scanner) (domain.MCPCredential, error) {
	var (
		c       domain.MCPCredential
		updated int64
		refused sql.NullInt64
	)
	err := row.Scan(&c.Tenant, &c.Server, &c.Issuer, &c.Resource, &c.ClientID, &c.Sealed, &updated, &refused)
	c.Updated, c.Refused = timeOf(updated), optionalTime(refused)
	return c, err
}

// MCPCredentials lists the sign-ins of a tenant at MCP servers.
func (s *Store) MCPCredentials(ctx context.Context, tenant domain.TenantID) ([]domain.MCPCredential, error) {
	return selectAll(ctx, s, "list the sign-ins at MCP servers", scanCredential,
		`select `+credentialColumns+` from mcp_credentials where tenant_id = $1 order by server, issuer, resource, client_id`, text(string(tenant)))
}

// MCPCredentialsOf lists the sign-ins of a tenant at one MCP server, the newest first.
func (s *Store) MCPCredentialsOf(ctx context.Context, tenant domain.TenantID, server string) ([]domain.MCPCredential, error) {
	return selectAll(ctx, s, "read the sign-in at an MCP server", scanCredential,
		`select `+credentialColumns+` from mcp_credentials where tenant_id = $1 and server = $2 order by updated_us desc, issuer, resource, client_id`,
		text(string(tenant)), text(server))
}

// SaveMCPCredential replaces all sign-ins of its tenant at its MCP server, and appends the audit record: the tokens of a former sign-in would stay
// where nobody looks for them.
func (s *Store) SaveMCPCredential(ctx context.Context, c domain.MCPCredential, record domain.AuditRecord) error {
	return s.audited(ctx, "save a sign-in at an MCP server", c.Tenant, record, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `delete from mcp_credentials where tenant_id = $1 and server = $2`, text(string(c.Tenant)), text(c.Server))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `
			insert into mcp_credentials (tenant_id, server, issuer, resource, client_id, sealed, updated_us) values ($1, $2, $3, $4, $5, $6, now_us())
			on conflict (tenant_id, server, issuer, resource, client_id) do update
				set sealed = excluded.sealed, updated_us = excluded.updated_us, refused_us = null, claimed_by = null, claimed_until_us = null`,
			append(keyOf(c.MCPCredentialKey), c.Sealed)...)
		return err
	})
}

// DeleteMCPCredentials removes the sign-ins of a tenant at an MCP server, and appends the audit record. Without a sign-in it is [domain.CodeNotFound].
func (s *Store) DeleteMCPCredentials(ctx context.Context, tenant domain.TenantID, server string, record domain.AuditRecord) error {
	return s.audited(ctx, "delete the sign-in at an MCP server", tenant, record, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `delete from mcp_credentials where tenant_id = $1 and server = $2`, text(string(tenant)), text(server))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return notFound("sign-in")
	})
}

// ofCredential is the condition of the row of a key. asRead holds as long as nobody has written other tokens since they were read.
const (
	ofCredential = `tenant_id = $1 and server = $2 and issuer = $3 and resource = $4 and client_id = $5` //nolint:gosec // a condition
	asRead       = ofCredential + ` and sealed = $6`
)

func keyOf(k domain.MCPCredentialKey) []any {
	return []any{text(string(k.Tenant)), text(k.Server), text(k.Issuer), text(k.Resource), text(k.ClientID)}
}

// ClaimMCPCredential gives one caller the right to refresh the tokens that it has read, for ttl by the clock of the database. false: somebody else has
// it, the tokens are others by now, or the authorization server has refused them. A refresh token is often good for one use, and two uses end the
// sign-in.
func (s *Store) ClaimMCPCredential(ctx context.Context, read domain.MCPCredential, by string, ttl time.Duration) (bool, error) {
	changed, err := s.exec(ctx, "claim the sign-in at an MCP server", `
		update mcp_credentials set claimed_by = $7, claimed_until_us = now_us() + $8
		where `+asRead+` and refused_us is null and (claimed_until_us is null or claimed_until_us <= now_us() or claimed_by = $7)`,
		append(keyOf(read.MCPCredentialKey), read.Sealed, text(by), ttl.Microseconds())...)
	return changed == 1, err
}

// ReleaseMCPCredential ends a claim whose refresh has come to nothing.
func (s *Store) ReleaseMCPCredential(ctx context.Context, read domain.MCPCredential, by string) error {
	_, err := s.exec(ctx, "release the sign-in at an MCP server",
		`update mcp_credentials set claimed_by = null, claimed_until_us = null where `+asRead+` and claimed_by = $7`,
		append(keyOf(read.MCPCredentialKey), read.Sealed, text(by))...)
	return err
}

// RenewMCPCredential writes new tokens in the place of those that were read, and may be repeated. It asks for no claim: where a claim has run out, the
// tokens that arrive late are still better than those that they came from. false: others were written meanwhile, or the sign-in is gone.
func (s *Store) RenewMCPCredential(ctx context.Context, read domain.MCPCredential, sealed []byte) (bool, error) {
	changed, err := s.exec(ctx, "renew the sign-in at an MCP server", `
		update mcp_credentials set sealed = $7, updated_us = now_us(), refused_us = null, claimed_by = null, claimed_until_us = null
		where `+ofCredential+` and (sealed = $6 or sealed = $7)`,
		append(keyOf(read.MCPCredentialKey), read.Sealed, sealed)...)
	return changed == 1, err
}

// RefuseMCPCredential notes that the authorization server takes the refresh token no more, so that nobody asks it again. It counts only under the claim.
func (s *Store) RefuseMCPCredential(ctx context.Context, read domain.MCPCredential, by string) error {
	_, err := s.exec(ctx, "end the sign-in at an MCP server", `
		update mcp_credentials set refused_us = now_us(), claimed_by = null, claimed_until_us = null where `+asRead+` and claimed_by = $7`,
		append(keyOf(read.MCPCredentialKey), read.Sealed, text(by))...)
	return err
}

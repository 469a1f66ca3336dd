package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"signoff/internal/domain"
)

// maxAgentProfiles and maxProfileVersions bound what a tenant can store.
const (
	maxAgentProfiles   = 500
	maxProfileVersions = 1000
)

const selectProfile = `select v.tenant_id, v.name, v.version, v.definition, v.grants, v.by, v.created_us, p.deleted_us, p.created_us from agent_profiles p join agent_profile_versions v on v.tenant_id = p.tenant_id and v.name = p.name`

func scanProfile(row scanner) (p domain.AgentProfile, err error) {
	var (
		definition, grants, by string
		since, created         int64
		deleted                sql.NullInt64
	)
	if err := row.Scan(&p.Tenant, &p.Name, &p.Version, &definition, &grants, &by, &created, &deleted, &since); err != nil {
		return p, err
	}
	p.Definition, p.Since, p.Created, p.Deleted = json.RawMessage(definition), timeOf(since), timeOf(created), optionalTime(deleted)
	return p, errors.Join(decode("grants", grants, &p.Grants), decode("by", by, &p.By))
}

// AgentProfile returns the newest version of a profile that is not deleted, and with a version that one, also of a deleted profile.
func (s *Store) AgentProfile(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.AgentProfile, error) {
	p, err := one(ctx, s.read, scanProfile, selectProfile+`
		where p.tenant_id = $1 and p.name = $2 and (v.version = $3 or ($3 = 0 and v.version = p.version and p.deleted_us is null))`,
		text(string(tenant)), text(name), int64(version))
	return p, s.found(err, "agent profile")
}

// AgentProfiles lists the newest versions of a tenant's profiles. The profile that was made last comes first.
func (s *Store) AgentProfiles(ctx context.Context, tenant domain.TenantID, after string, limit int) (Page[domain.AgentProfile], error) {
	var where conditions
	where.add(`p.tenant_id = $%d and v.version = p.version and p.deleted_us is null`, text(string(tenant)))
	return agentProfileList.page(ctx, s, selectProfile, where, after, limit)
}

var agentProfileList = listing[domain.AgentProfile]{
	name: "agent profiles", place: "p.created_us, p.name", desc: true, scan: scanProfile,
	of: func(p domain.AgentProfile) (int64, string) { return p.Since.UnixMicro(), p.Name },
}

// AgentProfilesNamed returns the profiles of all tenants that have a name and are not deleted.
func (s *Store) AgentProfilesNamed(ctx context.Context, name string) ([]domain.AgentProfile, error) {
	return selectAll(ctx, s, "read agent profiles", scanProfile, selectProfile+`
		where p.name = $1 and v.version = p.version and p.deleted_us is null order by p.tenant_id`, text(name))
}

// CreateAgentProfile stores the first version of a profile and appends the audit record. A name that is taken is a conflict. Where the name was
// deleted before, the numbers of the versions go on, so that no execution names another definition than its own.
func (s *Store) CreateAgentProfile(ctx context.Context, p domain.AgentProfile, record domain.AuditRecord) (created domain.AgentProfile, err error) {
	err = s.transact(ctx, "create an agent profile", func(tx *sql.Tx) error {
		// The end of the audit is taken first: two who create at once count one after the other.
		if err := s.appendAudit(ctx, tx, p.Tenant, record); err != nil {
			return err
		}
		count, err := one(ctx, tx, scanValue[int], `select count(*) from agent_profiles where tenant_id = $1 and deleted_us is null`, text(string(p.Tenant)))
		if err != nil {
			return err
		}
		if count >= maxAgentProfiles {
			return domain.Errorf(domain.CodeConflict, "There are %d agent profiles already, and no more may be; delete one first.", maxAgentProfiles)
		}
		version, err := one(ctx, tx, scanValue[int], `
			insert into agent_profiles (tenant_id, name, version, created_us) values ($1, $2, 1, now_us())
			on conflict (tenant_id, name) do update set version = agent_profiles.version + 1, created_us = excluded.created_us, deleted_us = null
				where agent_profiles.deleted_us is not null
			returning version`, text(string(p.Tenant)), text(p.Name))
		if errors.Is(err, sql.ErrNoRows) {
			return domain.Errorf(domain.CodeConflict, "There is an agent profile %q already; PUT makes a version of it.", p.Name)
		}
		if err != nil {
			return err
		}
		created, err = s.addProfileVersion(ctx, tx, p, version)
		return err
	})
	return created, err
}

// ReplaceAgentProfile stores the version behind p.Version and appends the audit record. Of two who have read the same version, the second gets a
// conflict.
func (s *Store) ReplaceAgentProfile(ctx context.Context, p domain.AgentProfile, record domain.AuditRecord) (replaced domain.AgentProfile, err error) {
	err = s.audited(ctx, "replace an agent profile", p.Tenant, record, func(tx *sql.Tx) error {
		current, err := s.lockProfile(ctx, tx, p.Tenant, p.Name)
		if err != nil {
			return err
		}
		if current != p.Version {
			return domain.Errorf(domain.CodeConflict, "The agent profile has changed since it was read; its version is %d by now. Read it again.", current)
		}
		if current >= maxProfileVersions {
			return domain.Errorf(domain.CodeConflict, "The agent profile has %d versions, and no more may be.", current)
		}
		if _, err := tx.ExecContext(ctx, `update agent_profiles set version = version + 1 where tenant_id = $1 and name = $2`,
			text(string(p.Tenant)), text(p.Name)); err != nil {
			return err
		}
		replaced, err = s.addProfileVersion(ctx, tx, p, current+1)
		return err
	})
	return replaced, err
}

// DeleteAgentProfile hides a profile and appends the audit record.
func (s *Store) DeleteAgentProfile(ctx context.Context, tenant domain.TenantID, name string, record domain.AuditRecord) error {
	return s.audited(ctx, "delete an agent profile", tenant, record, func(tx *sql.Tx) error {
		if _, err := s.lockProfile(ctx, tx, tenant, name); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update agent_profiles set deleted_us = now_us() where tenant_id = $1 and name = $2`,
			text(string(tenant)), text(name))
		return err
	})
}

// lockProfile returns the newest version of a profile that is not deleted, and keeps others from changing it.
func (s *Store) lockProfile(ctx context.Context, tx *sql.Tx, tenant domain.TenantID, name string) (version int, err error) {
	version, err = one(ctx, tx, scanValue[int], `select version from agent_profiles where tenant_id = $1 and name = $2 and deleted_us is null`+s.dialect.lock,
		text(string(tenant)), text(name))
	return version, s.found(err, "agent profile")
}

func (s *Store) addProfileVersion(ctx context.Context, tx *sql.Tx, p domain.AgentProfile, version int) (domain.AgentProfile, error) {
	grants, err := encode(append([]string{}, p.Grants...))
	if err != nil {
		return p, err
	}
	by, err := encode(p.By)
	if err != nil {
		return p, err
	}
	_, err = tx.ExecContext(ctx, `
		insert into agent_profile_versions (tenant_id, name, version, definition, grants, by, created_us)
		values ($1, $2, $3, $4, $5, $6, now_us())`,
		text(string(p.Tenant)), text(p.Name), int64(version), text(string(p.Definition)), grants, by)
	if err != nil {
		return p, err
	}
	return one(ctx, tx, scanProfile, selectProfile+` where p.tenant_id = $1 and p.name = $2 and v.version = p.version`, text(string(p.Tenant)), text(p.Name))
}

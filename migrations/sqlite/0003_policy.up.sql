-- What an agent may do beside what its execution was given, what it noted, and what was done.

-- Rules hold for an execution or for all of a tenant, and say which calls they cover. Those of before are decisions that
-- were remembered for exactly one call.
create table permission_rules_of_policy (
    id           text primary key,
    tenant_id    text not null,
    scope        text not null check (scope in ('execution', 'global')),
    execution_id text references executions (id) on delete cascade,
    effect       text not null check (effect in ('allow', 'ask', 'deny')),
    matcher      text not null, -- json
    approval_id  text,          -- the decision that it remembers; null: it was written by itself
    by           text not null, -- json
    created_us   integer not null,
    expires_us   integer, -- null: never
    revoked_us   integer,
    revoked_by   text,   -- json
    hits         integer not null, -- how often it has decided
    last_hit_us  integer,
    check ((scope = 'execution') = (execution_id is not null))
) strict;

insert into permission_rules_of_policy (id, tenant_id, scope, execution_id, effect, matcher, approval_id, by, created_us, hits)
select id, tenant_id, 'execution', execution_id, 'allow',
    cast(json_object('argumentsHash', arguments_hash, 'tool', tool) as text), approval_id, '{"keyId":"","name":""}',
    created_us, 0
from permission_rules;

drop table permission_rules;
alter table permission_rules_of_policy rename to permission_rules;

create index permission_rules_of_execution on permission_rules (execution_id, created_us, id);
create index permission_rules_by_age on permission_rules (tenant_id, created_us, id);
create index permission_rules_global on permission_rules (tenant_id, created_us, id) where execution_id is null;

alter table approvals add column asked_by text not null default ''; -- what of the policy asks
alter table approvals add column reason text not null default '';
alter table approvals add column remember_options text; -- json: a list; null: nothing can be remembered

-- The notes of a scope. The revision is what a writer must have read.
create table memory (
    tenant_id  text not null,
    scope      text not null,
    content    text not null,
    revision   integer not null, -- 1, 2, 3 …
    updated_us integer not null,
    by         text not null, -- json
    primary key (tenant_id, scope)
) strict, without rowid;

-- One chain for each tenant. The execution is no foreign key: what was done stays known when the execution is gone.
create table audit (
    tenant_id    text not null,
    seq          integer not null, -- 1, 2, 3 … without a hole
    time_us      integer not null,
    execution_id text,
    action       text not null,
    record       text not null, -- json, byte for byte as it was hashed
    previous     text not null, -- hash of the entry before
    hash         text not null,
    primary key (tenant_id, seq)
) strict, without rowid;

create index audit_of_execution on audit (tenant_id, execution_id, seq) where execution_id is not null;

-- The ends of the chains: whoever appends holds the row until the transaction ends.
create table audit_heads (
    tenant_id text primary key,
    seq       integer not null,
    time_us   integer not null,
    hash      text not null
) strict, without rowid;

-- Whoever may write to the database can still take these triggers off; the chain is what shows it.
create trigger audit_is_kept before update on audit begin
    select raise(abort, 'the audit is only ever appended to');
end;

create trigger audit_is_not_emptied before delete on audit begin
    select raise(abort, 'the audit is only ever appended to');
end;

-- To SQLite `insert or replace` is neither an update nor a delete.
create trigger audit_is_not_replaced before insert on audit
    when exists (select 1 from audit where tenant_id = new.tenant_id and seq = new.seq) begin
    select raise(abort, 'the audit is only ever appended to');
end;

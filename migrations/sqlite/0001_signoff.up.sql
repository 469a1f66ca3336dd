-- Times are whole microseconds since 1970, UTC. Columns with JSON are text: what was written is read back byte for
-- byte. Every table names its tenant.

create table executions (
    id          text primary key,
    tenant_id   text not null,
    request     text not null,
    status      text not null check (status in (
        'queued', 'initializing', 'waiting', 'streaming', 'pendingToolApproval', 'executingTool',
        'idle', 'interrupted', 'completed', 'failed', 'cancelled', 'timedOut')),
    source_type text not null,
    model       text not null,
    turn        integer not null,
    rounds      integer not null,
    usage       text not null,
    output      text,
    created_us  integer not null,
    updated_us  integer not null,
    ended_us    integer,
    created_by  text not null,
    cancel      text -- a request to stop; the first one stands
) strict;

create index executions_by_age on executions (tenant_id, created_us desc, id desc);
create index executions_by_status on executions (tenant_id, status, created_us desc, id desc);

-- The narrow row that every change updates: it hands out the sequence numbers and refuses stale epochs.
create table execution_heads (
    execution_id text primary key references executions (id) on delete cascade,
    tenant_id    text not null,
    last_seq     integer not null,
    epoch        integer not null,
    owner        text,             -- the replica that drives it; null: nobody
    recoveries   integer not null, -- take-overs since the last progress
    bell         integer not null, -- counts the changes of others than the owner
    ended        integer not null check (ended in (0, 1)) -- the status is terminal: nothing is written any more
) strict, without rowid;

create index execution_heads_live on execution_heads (owner) where ended = 0;

create table events (
    execution_id text not null references executions (id) on delete cascade,
    seq          integer not null, -- 1, 2, 3 … without a hole
    tenant_id    text not null,
    type         text not null,
    time_us      integer not null,
    data         text not null,
    primary key (execution_id, seq)
) strict, without rowid;

create table approvals (
    id                text primary key,
    tenant_id         text not null,
    execution_id      text not null references executions (id) on delete cascade,
    kind              text not null,
    call_id           text not null,
    tool              text not null,
    tool_version      text not null,
    class             text not null,
    arguments         text not null, -- json, as it was shown
    summary           text not null,
    working_directory text not null,
    arguments_hash    text not null,
    status            text not null check (status in ('pending', 'approved', 'denied', 'expired', 'cancelled')),
    requested_us      integer not null,
    expires_us        integer, -- null: never
    decision          text,    -- json, without the decider's arguments
    decided_arguments text,    -- json, byte for byte as the decider wrote it
    resolved_us       integer
) strict;

create index approvals_inbox on approvals (tenant_id, status, requested_us, id);
create index approvals_by_age on approvals (tenant_id, requested_us, id);
create index approvals_of_execution on approvals (execution_id, requested_us, id);
create index approvals_to_expire on approvals (expires_us) where status = 'pending' and expires_us is not null;

create table permission_rules (
    id             text primary key,
    tenant_id      text not null,
    execution_id   text not null references executions (id) on delete cascade,
    tool           text not null,
    arguments_hash text not null,
    approval_id    text not null, -- the decision that it remembers
    created_us     integer not null
) strict;

create index permission_rules_of_execution on permission_rules (execution_id);

create table idempotency_keys (
    tenant_id    text not null,
    key          text not null,
    body_hash    blob not null,
    -- Deferred: the key is taken before the execution is written, so that a taken one is found before anything is.
    execution_id text not null references executions (id) on delete cascade deferrable initially deferred,
    created_us   integer not null,
    primary key (tenant_id, key)
) strict, without rowid;

create index idempotency_keys_of_execution on idempotency_keys (execution_id);

create table api_keys (
    id           text primary key,
    tenant_id    text not null,
    name         text not null,
    hash         blob not null,
    scopes       text not null, -- json: a list of strings
    created_us   integer not null,
    expires_us   integer,
    revoked_us   integer,
    last_used_us integer
) strict, without rowid;

create index api_keys_of_tenant on api_keys (tenant_id, created_us, id);

-- A replica lives as long as its lease. Executions of one that does not are anybody's.
create table replicas (
    id             text primary key,
    lease_until_us integer not null,
    started_us     integer not null
) strict, without rowid;

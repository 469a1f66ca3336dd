-- Times are whole microseconds since 1970, UTC. Columns with JSON are text: what was written is read back byte for
-- byte, which jsonb does not do. Every table names its tenant. Ids compare by byte: it is quicker, and they sort by age.

-- The clock of expiries and leases. clock_timestamp, not now(): a transaction that waited for a lock must see that
-- time has passed.
create function now_us() returns bigint language sql volatile parallel safe
    return (extract(epoch from clock_timestamp()) * 1000000)::bigint;

create table executions (
    id          text collate "C" primary key,
    tenant_id   text not null,
    request     text not null,
    status      text not null check (status in (
        'queued', 'initializing', 'waiting', 'streaming', 'pendingToolApproval', 'executingTool',
        'idle', 'interrupted', 'completed', 'failed', 'cancelled', 'timedOut')),
    source_type text not null,
    model       text not null,
    turn        bigint not null,
    rounds      bigint not null,
    usage       text not null,
    output      text,
    created_us  bigint not null,
    updated_us  bigint not null,
    ended_us    bigint,
    created_by  text not null,
    cancel      text -- a request to stop; the first one stands
);

create index executions_by_age on executions (tenant_id, created_us desc, id desc);
create index executions_by_status on executions (tenant_id, status, created_us desc, id desc);

-- The narrow row that every change updates: it hands out the sequence numbers and refuses stale epochs. Free space in
-- each page and no index on what changes with every event keep those updates within the page (HOT).
create table execution_heads (
    execution_id text collate "C" primary key references executions (id) on delete cascade,
    tenant_id    text not null,
    last_seq     bigint not null,
    epoch        bigint not null,
    owner        text,            -- the replica that drives it; null: nobody
    recoveries   bigint not null, -- take-overs since the last progress
    bell         bigint not null, -- counts the changes of others than the owner
    ended        bigint not null check (ended in (0, 1)) -- the status is terminal: nothing is written any more
) with (fillfactor = 70);

create index execution_heads_live on execution_heads (owner) where ended = 0;

-- A freshly filled log without statistics is read by a sort instead of along its key: 18 ms instead of 0.4. So it is
-- analysed early.
create table events (
    execution_id text collate "C" not null references executions (id) on delete cascade,
    seq          bigint not null, -- 1, 2, 3 … without a hole
    tenant_id    text not null,
    type         text not null,
    time_us      bigint not null,
    data         text not null,
    primary key (execution_id, seq)
) with (autovacuum_analyze_threshold = 500, autovacuum_analyze_scale_factor = 0.02);

create table approvals (
    id                text collate "C" primary key,
    tenant_id         text not null,
    execution_id      text collate "C" not null references executions (id) on delete cascade,
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
    requested_us      bigint not null,
    expires_us        bigint, -- null: never
    decision          text,   -- json, without the decider's arguments
    decided_arguments text,   -- json, byte for byte as the decider wrote it
    resolved_us       bigint
);

create index approvals_inbox on approvals (tenant_id, status, requested_us, id);
create index approvals_by_age on approvals (tenant_id, requested_us, id);
create index approvals_of_execution on approvals (execution_id, requested_us, id);
create index approvals_to_expire on approvals (expires_us) where status = 'pending' and expires_us is not null;

create table permission_rules (
    id             text collate "C" primary key,
    tenant_id      text not null,
    execution_id   text collate "C" not null references executions (id) on delete cascade,
    tool           text not null,
    arguments_hash text not null,
    approval_id    text not null, -- the decision that it remembers
    created_us     bigint not null
);

create index permission_rules_of_execution on permission_rules (execution_id);

create table idempotency_keys (
    tenant_id    text not null,
    key          text not null,
    body_hash    bytea not null,
    -- Deferred: the key is taken before the execution is written, so that a taken one is found before anything is.
    execution_id text collate "C" not null references executions (id) on delete cascade deferrable initially deferred,
    created_us   bigint not null,
    primary key (tenant_id, key)
);

create index idempotency_keys_of_execution on idempotency_keys (execution_id);

create table api_keys (
    id           text collate "C" primary key,
    tenant_id    text not null,
    name         text not null,
    hash         bytea not null,
    scopes       text not null, -- json: a list of strings
    created_us   bigint not null,
    expires_us   bigint,
    revoked_us   bigint,
    last_used_us bigint
);

create index api_keys_of_tenant on api_keys (tenant_id, created_us, id);

-- A replica lives as long as its lease. Executions of one that does not are anybody's.
create table replicas (
    id             text collate "C" primary key,
    lease_until_us bigint not null,
    started_us     bigint not null
);

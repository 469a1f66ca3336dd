-- Whom the service tells by itself, what it told them, and what came of it.

create table webhooks (
    id                text primary key,
    tenant_id         text not null,
    url               text not null,
    description       text not null,
    types             text,            -- json: a list of types of events; null: all that are told
    links             integer not null check (links in (0, 1)), -- requests for approval come with a link that decides
    secret            text not null,   -- it signs, so it is kept as it is
    previous          text,            -- the secret before; signs beside the new one
    previous_until_us integer,
    created_us        integer not null,
    by                text not null,   -- json
    disabled_us       integer,
    disabled_because  text not null default '',
    check ((previous is null) = (previous_until_us is null))
) strict, without rowid;

create index webhooks_by_age on webhooks (tenant_id, created_us, id);

-- Written with the event that they tell of. Neither the execution nor the webhook is a foreign key: a delivery outlives the
-- one, and an execution must not fail to commit because somebody deletes the other at that moment.
create table webhook_deliveries (
    webhook_id   text not null,
    id           text not null,
    tenant_id    text not null,
    type         text not null,
    body         text not null, -- json, byte for byte as it is signed, but for the link
    execution_id text,
    created_us   integer not null,
    due_us       integer not null, -- of one that is being sent: when it is anybody's again
    state        text not null check (state in ('pending', 'delivered', 'failed')),
    attempts     integer not null, -- those that have begun
    before       integer not null, -- of those, the ones before it was sent anew
    primary key (webhook_id, id)
) strict;

create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_us) where state = 'pending';
create index webhook_deliveries_by_age on webhook_deliveries (webhook_id, created_us, id);
create index webhook_deliveries_over on webhook_deliveries (created_us) where state <> 'pending';

create table webhook_attempts (
    webhook_id  text not null,
    delivery_id text not null,
    n           integer not null, -- 1, 2, 3 …; a number that is missing was begun by a server that died
    tenant_id   text not null,
    time_us     integer not null,
    status      integer not null, -- of the answer; 0: there was none
    error       text not null,
    duration_us integer not null,
    primary key (webhook_id, delivery_id, n)
) strict, without rowid;

-- Secrets that all replicas share, made by the first one that needs them.
create table server_keys (
    name       text primary key,
    key        blob not null,
    created_us integer not null
) strict, without rowid;

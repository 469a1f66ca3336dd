-- External agents, further turns, and what somebody wants of an execution beside its end.

alter table executions add column agent text not null default '';         -- the agent's name in the registry
alter table executions add column agent_session text not null default ''; -- as the agent calls it
alter table executions add column close_by text; -- json: who closed it; the first one stands
alter table executions add column resume text;   -- json: how an interrupted one is to go on, until it does

alter table approvals add column options text;        -- json, as the agent sent them
alter table approvals add column question text;       -- json
alter table approvals add column decided_answer text; -- json, byte for byte as the decider wrote it

-- Further prompts. One that was acknowledged is started or discarded before its execution rests or ends.
create table prompts (
    id              text primary key,
    tenant_id       text not null,
    execution_id    text not null references executions (id) on delete cascade,
    seq             integer not null, -- of the event that tells of it: the order of their turns
    text            text not null,
    when_busy       text not null,
    by              text not null, -- json
    created_us      integer not null,
    state           text not null check (state in ('queued', 'started', 'discarded')),
    turn            integer, -- that it started
    idempotency_key text,
    body_hash       blob
) strict;

create index prompts_of_execution on prompts (execution_id, seq);
create index prompts_queued on prompts (execution_id, seq) where state = 'queued';
create unique index prompts_by_key on prompts (execution_id, idempotency_key) where idempotency_key is not null;

-- The newest raw messages of an agent's protocol. The message is the last column: what is asked of many rows at once
-- stands before it, so that long ones are not read for it.
create table debug_messages (
    execution_id text not null references executions (id) on delete cascade,
    n            integer not null, -- 1, 2, 3 …; the oldest are let go
    tenant_id    text not null,
    time_us      integer not null,
    direction    text not null,
    bytes        integer not null, -- of the whole message, of which the start may be all that is kept
    position     integer not null, -- how many bytes of messages were kept before it, since the first
    message      text not null,
    primary key (execution_id, n)
) strict, without rowid;

-- Runbooks: calls that the client runs, blocks that wait for a person, and one log of all executions.

-- A call that its client runs. The waiting ends once.
create table client_calls (
    execution_id text not null references executions (id) on delete cascade,
    call_id      text not null,
    tenant_id    text not null,
    n            integer not null, -- 1, 2, 3 …: the order of asking
    tool         text not null,
    arguments    text not null, -- json, as it was asked for
    state        text not null check (state in ('waiting', 'answered', 'expired', 'cancelled')),
    asked_us     integer not null,
    expires_us   integer, -- null: never
    answer       text,   -- json
    ended_us     integer, -- by database time
    primary key (execution_id, call_id),
    check ((state = 'answered') = (answer is not null)),
    check ((state = 'waiting') = (ended_us is null))
) strict, without rowid;

-- Blocks that an agent has handed in.
create table generations (
    execution_id      text not null references executions (id) on delete cascade,
    number            integer not null, -- 1, 2, 3 …
    tenant_id         text not null,
    state             text not null check (state in ('submitted', 'accepted', 'superseded', 'cancelled')),
    turn              integer not null,
    call_id           text not null,
    blocks            text not null, -- json: a list
    document_revision text not null,
    created_us        integer not null,
    decided_us        integer, -- when it stopped being submitted
    by                text,   -- json: who accepted it
    primary key (execution_id, number),
    check ((state = 'submitted') = (decided_us is null)),
    check ((state = 'accepted') = (by is not null))
) strict, without rowid;

create unique index generations_submitted on generations (execution_id) where state = 'submitted';

alter table prompts add column edit_generation integer; -- whose blocks it wants changed; null: it is no edit
alter table prompts add column edit_document text;     -- json: what is there now; null: it has not changed
create index prompts_with_document on prompts (execution_id, turn) where edit_document is not null;

-- Where blocks are generated for; there one execution at a time is wanted.
alter table executions add column place text;
alter table executions add column placed_us integer; -- by database time: created_us is by that of a replica
create index executions_at_place on executions (tenant_id, place, placed_us, id) where place is not null and ended_us is null;

-- One log of all executions of a tenant: a row for each change that has events, read in the order of key and position.
-- One writer commits after the other, so positions alone are in order here, and the key of a change (change_key, which Go
-- registers) is always 0; see Store.Feed. A position is never given out twice, also where the newest rows were deleted.
create table feed (
    tenant_id    text not null,
    key          integer not null,
    position     integer primary key autoincrement,
    execution_id text not null references executions (id) on delete cascade,
    first_seq    integer not null,
    last_seq     integer not null,
    unique (tenant_id, key, position)
) strict;

create index feed_of_execution on feed (execution_id);

-- What may be read has keys below that of the end, and no higher position. What is written at all has keys below the top.
create view feed_end (key, top, position) as
select 1, 1, coalesce((select seq from sqlite_sequence where name = 'feed'), 0);

alter table execution_heads add column feed_key integer not null default 0; -- the highest key of its changes

insert into feed (tenant_id, key, execution_id, first_seq, last_seq)
select h.tenant_id, 0, h.execution_id, 1, h.last_seq
from execution_heads h join executions e on e.id = h.execution_id
where h.last_seq > 0
order by e.created_us, e.id;

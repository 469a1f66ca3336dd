-- Rollbacks: who wants which execution to go back to which of its checkpoints, and what became of it. While one runs, its journal says from where it has begun, so
-- that another driver can finish it. A binary of the version before neither writes nor reads them.
create table rollbacks (
    execution_id text not null references executions (id) on delete cascade,
    number       integer not null,
    tenant_id    text not null,
    state        text not null check (state in ('requested', 'running', 'done', 'failed')),
    request      text not null, -- JSON
    journal      text,          -- JSON
    result       text,          -- JSON
    error        text,          -- JSON
    replica      text,          -- that does it, for an execution that has ended; null: the driver of the execution does
    created_us   integer not null,
    ended_us     integer,
    primary key (execution_id, number)
) strict, without rowid;
create unique index rollbacks_open on rollbacks (execution_id) where ended_us is null;

-- The requests of calls that do not run until a person has answered a question of their MCP server. They are private, so they stand beside
-- the events and not in them: no route reads them. A call has one: a further question takes the place of the one before. A binary of version 18
-- writes and reads none, and its deletion removes these rows with the execution.
create table paused_requests (
    execution_id text not null references executions (id) on delete cascade,
    call_id      text not null,
    tenant_id    text not null,
    approval_id  text not null, -- the question
    request      blob not null, -- as the MCP client wrote it
    primary key (execution_id, call_id)
) strict; -- with rowid: a request may be large

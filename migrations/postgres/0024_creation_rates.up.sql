-- When executions with a rate limit were created, for each target of a tenant: one row, which a creation locks before it counts.
create table creation_rates (
    tenant_id text collate "C" not null,
    target    text collate "C" not null, -- a runbook or a document
    created   text not null, -- a JSON list of times in microseconds, the oldest first
    until_us  bigint not null, -- when the newest has left the window; the row can go then
    primary key (tenant_id, target)
);

create index creation_rates_that_can_go on creation_rates (until_us);

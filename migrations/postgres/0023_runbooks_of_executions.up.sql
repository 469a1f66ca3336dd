-- What executions are looked up by: their runbook, the block that started them, their kind. An execution that an older server has
-- created has none of these, and no filter by them finds it.
alter table executions add column runbook_id text collate "C";
alter table executions add column block_id text collate "C";
alter table executions add column kind text;

create index executions_by_runbook on executions (tenant_id, runbook_id, created_us desc, id desc) where runbook_id is not null;
create index executions_by_block on executions (tenant_id, block_id, created_us desc, id desc) where block_id is not null;

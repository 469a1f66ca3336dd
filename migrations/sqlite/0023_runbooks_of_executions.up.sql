-- What executions are looked up by: their runbook, the block that started them, their kind. An execution of an older server that runs beside this one
-- has none of these, and no filter by them finds it.
alter table executions add column runbook_id text;
alter table executions add column block_id text;
alter table executions add column kind text;

update executions set
    runbook_id = nullif(json_extract(request, '$.runbookId'), ''),
    block_id = json_extract(request, '$.block.id'),
    kind = coalesce(json_extract(request, '$.kind'), 'agent');

create index executions_by_runbook on executions (tenant_id, runbook_id, created_us desc, id desc) where runbook_id is not null;
create index executions_by_block on executions (tenant_id, block_id, created_us desc, id desc) where block_id is not null;

-- The audit of a tree, which is found after its executions are gone, too.
alter table audit add column root_id text; -- null of what no other execution has delegated

create index audit_of_root on audit (tenant_id, root_id, seq) where root_id is not null;

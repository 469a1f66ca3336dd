-- The folder in which an execution works, so that executions in one folder are found; and whether the folder was made for it, so that nobody's is removed who
-- keeps it. A binary of the version before writes neither: its executions are in no list of neighbours, and have no own folder.
alter table executions add column working_directory text collate "C"; -- null: an older version has created it
alter table executions add column own_folder text check (own_folder in ('kept', 'removed')); -- at its end; null: it has none

create index executions_live_in_folder on executions (tenant_id, working_directory) where ended_us is null;

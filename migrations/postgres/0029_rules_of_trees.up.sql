-- A rule of the scope execution with tree = 1 is one of a root, and holds for all executions below it, too. A binary of version 28 has it for the root alone.
alter table permission_rules add column tree integer not null default 0;

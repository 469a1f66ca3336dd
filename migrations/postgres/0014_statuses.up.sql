-- The table does not list the statuses any more: the domain does, and a new status there needed another edit of an old migration. A binary of
-- version 13 writes the statuses that it knows.
alter table executions drop constraint executions_status_check;

-- An execution is deleted in portions. The mark is what makes it gone for clients; its rows follow, over restarts. A binary of version 9
-- shows an execution that is marked until its rows are gone, and marks none.
alter table execution_heads add column deleted_us integer; -- since when it is deleted; null: it is not
alter table execution_heads add column removed_seq integer not null default 0; -- the events up to here are removed
create index execution_heads_deleted on execution_heads (deleted_us, execution_id) where deleted_us is not null;

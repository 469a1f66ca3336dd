-- The table does not list the statuses any more: the domain does, and a new status there needed another edit of an old migration. A binary of
-- version 13 writes the statuses that it knows.
--
-- SQLite cannot drop a check. A rebuild would copy the table and touch every foreign key that leads to it, so this takes the other way that SQLite
-- documents (https://sqlite.org/lang_altertable.html#otheralter, "removing CHECK"): it edits the text of the table's definition.
-- The tables of findings change the schema's version, so that every other connection reads the definition anew, and fail the migration when the
-- database is not sound.
pragma writable_schema = on;
update sqlite_schema set sql = replace(sql, ' check (status in (
        ''queued'', ''initializing'', ''waiting'', ''streaming'', ''pendingToolApproval'', ''executingTool'',
        ''idle'', ''interrupted'', ''completed'', ''failed'', ''cancelled'', ''timedOut''))', '') where type = 'table' and name = 'executions';
pragma writable_schema = reset;
create table findings_0014 (finding text not null constraint "integrity_check and foreign_key_check find nothing" check (finding = 'ok')) strict;
insert into findings_0014 select 'the check is still there' from sqlite_schema where name = 'executions' and sql like '%check (status in%';
insert into findings_0014 select integrity_check from pragma_integrity_check('executions');
insert into findings_0014 select 'a foreign key of ' || "table" || ' leads nowhere' from pragma_foreign_key_check;
drop table findings_0014;

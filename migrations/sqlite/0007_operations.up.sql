-- Operations: how long executions are kept, and which binaries may run on this schema.

alter table executions add column retain_us integer; -- how long it is kept after its end; 0: for ever; null: as long as the server says
create index executions_kept_as_said on executions ((ended_us + retain_us)) where retain_us > 0 and ended_us is not null;
create index executions_kept_by_default on executions (ended_us) where retain_us is null and ended_us is not null;

-- One row: the oldest version whose binary may still run on this schema, beside a newer one. A migration that such a
-- binary could not live with raises it.
create table schema_floor (
    version integer primary key
) strict;
insert into schema_floor (version) values (4);

-- The items of a long execution, as far as they were made of its log: a page of them then needs only the events behind. They can be made
-- anew at any time. A binary of version 12 makes them of the whole log each time, and its deletion removes these rows with the execution.
create table item_folds (
    execution_id text primary key references executions (id) on delete cascade,
    tenant_id    text not null,
    version      integer not null, -- of the code that made the rows: those of another one count for nothing
    seq          integer not null, -- the events up to here are in the rows
    items        integer not null, -- rows with a place below it count
    state        text not null     -- json: what is known beside the items
) strict, without rowid;

create table item_rows (
    execution_id text not null references executions (id) on delete cascade,
    place        integer not null, -- 0, 1, 2 …: the order in which the items began
    tenant_id    text not null,
    key          text not null,    -- rows that the same events change have the same
    state        text not null,    -- json: the item, and what is needed to go on with it
    primary key (execution_id, place)
) strict; -- with rowid: a state may be large, and by two indexes of equal cost SQLite finds rows by the one that fits

create index item_rows_by_key on item_rows (execution_id, key);

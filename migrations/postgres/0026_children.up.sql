-- Trees of executions. A child is created by a call of its parent, and belongs to the tree of one root. A binary of version 25 lists children among the
-- roots. It drives none, because each requires more than it understands, and deletes none by its age, because each says that it is kept for ever.
alter table executions add column parent_id text collate "C"; -- null: nobody has delegated it
alter table executions add column root_id text collate "C";   -- null of a root

create index executions_roots_by_age on executions (tenant_id, created_us desc, id desc) where root_id is null;
create index executions_of_parent on executions (tenant_id, parent_id, created_us desc, id desc) where parent_id is not null;
create index executions_of_root on executions (tenant_id, root_id, created_us desc, id desc) where root_id is not null;

create table children (
    execution_id text collate "C" primary key references executions (id) on delete cascade,
    tenant_id    text not null,
    parent_id    text collate "C" not null,
    root_id      text collate "C" not null,
    tool_call_id text not null, -- of the parent, which has created it
    name         text not null,
    path         text not null, -- json: from the root to the child, for people
    rests        bigint not null default 0, -- how often it has ended a turn and rested, or ended
    taken        bigint not null default 0, -- the rest whose result the parent has taken
    result       text -- json: of the newest rest
);

create index children_of_parent on children (parent_id, execution_id);
create index children_of_root on children (root_id, execution_id);

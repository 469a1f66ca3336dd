-- What a binary must understand to drive an execution, and what the binary of each replica does: a number that grows. A binary of version 14 writes
-- neither. It ignores the environment of an execution, and would run its commands with more access than the request has given. So nothing that
-- requires more becomes its own: it finds the row, and changes none.
alter table replicas add column understands bigint not null default 0;
alter table execution_heads add column requires bigint not null default 0;

create function head_requires_more() returns trigger language plpgsql as $$
begin
    if exists (select 1 from replicas r where r.id = new.owner and r.understands >= new.requires) then
        return new;
    end if;
    return null;
end $$;

create trigger execution_heads_requires before update of owner on execution_heads for each row
when (new.requires > 0 and new.owner is not null and new.owner is distinct from old.owner) execute function head_requires_more();

-- Operations: how long executions are kept, and which binaries may run on this schema.

alter table executions add column retain_us bigint; -- how long it is kept after its end; 0: for ever; null: as long as the server says
create index executions_kept_as_said on executions ((ended_us + retain_us)) where retain_us > 0 and ended_us is not null;
create index executions_kept_by_default on executions (ended_us) where retain_us is null and ended_us is not null;

-- One row: the oldest version whose binary may still run on this schema, beside a newer one. A migration that such a
-- binary could not live with raises it.
create table schema_floor (
    version bigint primary key
);
insert into schema_floor (version) values (4);

-- What a binary of version 4 does not say for itself. It takes up what is parked or queued, and does not know that it is: let
-- go by it later, in the middle of a turn, such an execution would sleep for ever. Nor does its word to a parked execution wake it.
create function head_is_awake() returns trigger language plpgsql as $$
begin
    if new.owner is not null then
        new.wake_us := 0;
        new.queued_us := null;
    elsif new.queued_us is null then
        new.wake_us := 0;
    end if;
    return new;
end $$;

create trigger execution_heads_awake before update of owner, bell on execution_heads for each row
when (old.owner is null and (new.owner is not null or new.bell <> old.bell)) execute function head_is_awake();

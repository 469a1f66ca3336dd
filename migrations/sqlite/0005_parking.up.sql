-- Executions that nobody drives for a while: parked ones wait for somebody, queued ones for room.

alter table execution_heads add column wake_us integer not null default 0; -- where nobody drives it, it may be taken up from then on
alter table execution_heads add column queued_us integer; -- since when it waits for room; null: it does not

-- Without an owner the due ones come first, and of a hundred thousand that are parked nothing is read.
create index execution_heads_due on execution_heads (owner, wake_us) where ended = 0;
drop index execution_heads_live;

create index execution_heads_queued on execution_heads (tenant_id, queued_us, execution_id) where queued_us is not null;

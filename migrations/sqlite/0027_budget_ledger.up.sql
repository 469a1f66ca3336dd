-- The budgets that executions share, such as that of a tenant's day, and who holds which part of them. Each account has a row (no replica, no
-- execution), each replica that takes from it one with its allotment (no execution), and each execution with a reservation one for each of its drivers. A
-- row without a replica and with an execution is charged to the account itself, since its replica is dead. A binary of an older version reserves nothing.
create table budget_ledger (
    account         text not null,
    replica         text not null,
    execution_id    text not null,
    epoch           integer not null, -- of the driver that has reserved
    tokens          integer not null, -- handed out by the account, or to the replica; or used by the execution
    nanos           integer not null, -- the same of the cost, in billionths
    reserved_tokens integer not null,
    reserved_nanos  integer not null,
    until_us        integer not null, -- when the account is over; the rows can go some time later
    primary key (account, replica, execution_id, epoch)
) strict, without rowid;

create index budget_ledger_reserved on budget_ledger (execution_id, epoch) where reserved_tokens > 0 or reserved_nanos > 0;
create index budget_ledger_that_can_go on budget_ledger (until_us);

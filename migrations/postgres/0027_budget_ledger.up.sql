-- The budgets that executions share, such as that of a tenant's day, and who holds which part of them. Each account has a row (no replica, no
-- execution), each replica that takes from it one with its allotment (no execution), and each execution with a reservation one for each of its drivers. A
-- row without a replica and with an execution is charged to the account itself, since its replica is dead. A binary of an older version reserves nothing.
create table budget_ledger (
    account         text collate "C" not null,
    replica         text collate "C" not null,
    execution_id    text collate "C" not null,
    epoch           bigint not null, -- of the driver that has reserved
    tokens          bigint not null, -- handed out by the account, or to the replica; or used by the execution
    nanos           bigint not null, -- the same of the cost, in billionths
    reserved_tokens bigint not null,
    reserved_nanos  bigint not null,
    until_us        bigint not null, -- when the account is over; the rows can go some time later
    primary key (account, replica, execution_id, epoch)
);

create index budget_ledger_reserved on budget_ledger (execution_id, epoch) where reserved_tokens > 0 or reserved_nanos > 0;
create index budget_ledger_that_can_go on budget_ledger (until_us);

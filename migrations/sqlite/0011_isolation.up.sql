-- What confines the call of an approval, as json with a name, which may get more members. Null: the call runs no program, or the approval is
-- older than this. A binary of version 10 writes null.
alter table approvals add column isolation text;

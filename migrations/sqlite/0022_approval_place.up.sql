-- The runbook and the block that started the execution of an approval, and its tool in a line. Null: there is none, or an older server has asked.
alter table approvals add column runbook_id text;
alter table approvals add column block_id text;
alter table approvals add column tool_description text;

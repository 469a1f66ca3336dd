-- Why an execution is interrupted. A binary of version 8 leaves the column as it is: it counts only while the status is interrupted, where
-- null stands for processGone, the one cause which that version knows.
alter table executions add column cause text;

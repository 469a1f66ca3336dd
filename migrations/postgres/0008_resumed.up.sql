-- One execution at a time goes on with an agent session: two agents would write into one transcript. A binary of version 7 leaves the column
-- out, so what it creates takes no part in that.
alter table executions add column resumes text; -- a digest of the agent session that it goes on with: an id of an agent may be too long for an index
create unique index executions_resume_once on executions (tenant_id, agent, resumes) where resumes is not null and ended_us is null;

-- What a model wants back of its whole answers, beside text and calls: signatures, encrypted reasoning, ids. It is private, so it stands
-- beside the events and not in them: no route reads it. A binary of version 15 writes and reads none, and its deletion removes these rows with the
-- execution.
create table answer_states (
    execution_id text collate "C" not null references executions (id) on delete cascade,
    message_id   text collate "C" not null, -- of the answer
    tenant_id    text not null,
    state        bytea not null, -- as the model's provider wrote it
    primary key (execution_id, message_id)
);

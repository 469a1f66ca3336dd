-- Pictures and files of prompts and tool results. A binary of version 16 knows none: it reads the text of such a prompt alone.

-- The bytes, once per tenant and hash. They are apart from the names, so that no list reads them.
create table file_contents (
    tenant_id text not null,
    sha256    blob not null,
    content   blob not null,
    primary key (tenant_id, sha256)
) strict;

create table files (
    id         text primary key,
    tenant_id  text not null,
    sha256     blob not null,
    name       text not null,
    media_type text not null,
    size       integer not null,
    created_us integer not null,
    used       integer not null default 0, -- 1 since an execution has used it: it goes with the last one that does
    foreign key (tenant_id, sha256) references file_contents (tenant_id, sha256)
) strict;
create index files_of_content on files (tenant_id, sha256);
create index files_unused on files (created_us) where used = 0;

-- Which executions use a file.
create table execution_files (
    execution_id text not null references executions (id) on delete cascade,
    file_id      text not null references files (id),
    primary key (execution_id, file_id)
) strict, without rowid;
create index execution_files_of_file on execution_files (file_id);

-- The parts of a prompt that has more than text, as json. Null: its text is all.
alter table prompts add column parts text;

-- What the executions of a tree have viewed of the files that they work on together: an execution changes a file only if it has viewed its present content.
-- Of paths and contents there are hashes alone, so that a row is short and tells nothing. A binary of the version before keeps and
-- asks for none; what it writes is another content than the one that was viewed.
create table viewed_files (
    execution_id text collate "C" not null references executions (id) on delete cascade,
    path_hash    text collate "C" not null, -- SHA-256, in hexadecimal
    tenant_id    text not null,
    content_hash text not null, -- the same, of the whole content that was viewed or written last
    primary key (execution_id, path_hash)
);

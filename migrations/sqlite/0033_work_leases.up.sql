-- Work that one replica does at a time, such as the pruning of a folder that replicas share. A binary of the version before does no such work.
create table work_leases (
    work     text primary key,
    holder   text not null,
    until_us integer not null
) strict, without rowid;

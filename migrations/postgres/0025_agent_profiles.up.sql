-- Agent profiles: for each name the newest version, and all versions. A deleted profile is hidden: executions name its versions.
create table agent_profiles (
    tenant_id  text not null,
    name       text collate "C" not null,
    version    bigint not null, -- 1, 2, 3 …; goes on where a deleted name is made again
    created_us bigint not null,
    deleted_us bigint,
    primary key (tenant_id, name)
);

create table agent_profile_versions (
    tenant_id  text not null,
    name       text collate "C" not null,
    version    bigint not null,
    definition text not null, -- json
    grants     text not null, -- json: scopes of its maker's key
    by         text not null, -- json
    created_us bigint not null,
    primary key (tenant_id, name, version)
);

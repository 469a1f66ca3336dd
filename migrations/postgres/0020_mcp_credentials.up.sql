-- The sign-ins of tenants at the authorization servers of MCP servers. A binary of an older version does not read them.
create table mcp_credentials (
    tenant_id        text not null,
    server           text not null, -- the name of the entry in mcpServers
    issuer           text not null, -- of the authorization server
    resource         text not null, -- that the tokens are for: the address of the MCP server
    client_id        text not null,
    sealed           bytea not null, -- the tokens, encrypted together with the columns above; each writing makes other bytes
    updated_us       bigint not null,
    refused_us       bigint, -- since when the authorization server takes the refresh token no more
    claimed_by       text,   -- the replica that refreshes the tokens
    claimed_until_us bigint, -- when others may
    primary key (tenant_id, server, issuer, resource, client_id),
    check ((claimed_by is null) = (claimed_until_us is null))
);

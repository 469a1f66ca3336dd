-- The definitions of MCP tools to which a person has said yes. A binary of version 17 knows no MCP tools of our own agent.
create table mcp_pins (
    tenant_id  text not null,
    server     text not null, -- its name in the registry
    tool       text not null, -- as the server calls it
    hash       text not null, -- of the definition: SHA-256, in hex
    definition text,          -- canonical json; null: it was too long to keep
    first_us   integer not null, -- the first yes to any definition of the tool
    last_us    integer not null, -- the last yes to this one
    by         text not null,
    primary key (tenant_id, server, tool)
) strict, without rowid;

-- What an approval shows of the tool of an MCP server, as json, and the definition that a yes pins. Null: it is about no such tool.
alter table approvals add column mcp text;
alter table approvals add column mcp_definition text;

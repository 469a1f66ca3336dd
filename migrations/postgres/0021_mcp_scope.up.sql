-- Before this version, every key that creates executions could give the MCP servers of the operator to external agents. From now on that takes the
-- scope mcp:use. The keys that there are get it, so that they can do what they could. A binary of version 20 has no use for it.
update api_keys set scopes = replace(scopes, '"executions:write"', '"executions:write","mcp:use"') where scopes like '%"executions:write"%';

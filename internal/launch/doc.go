// Package launch checks and finds the programs that the operator's configuration names, for agents and for MCP servers alike.
//
// A program is a name on the server's PATH or an absolute path. Variables are passed on by name; those of Signoff itself never are:
// SIGNOFF_TOKEN opens the API, which approves, and SIGNOFF_DATABASE_URL the database behind it.
package launch

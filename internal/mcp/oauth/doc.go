// Package oauth signs Signoff in at the authorization servers of MCP servers.
//
// [Credentials.Login] is the sign-in of a person: an authorization code with PKCE, in the browser of that person. Its tokens become a row of the
// database, encrypted with [Keys]. [Credentials.Handler] gives the connection to a server its tokens, on every replica: it reads the row, and one
// replica at a time renews it. A server with client credentials needs no sign-in: each replica gets tokens of its own and keeps them in memory.
//
// No token and no secret of a client is ever in an error. The masker learns each one before it is used.
package oauth

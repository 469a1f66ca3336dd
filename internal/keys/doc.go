// Package keys makes API keys and verifies the tokens of requests.
//
// # Model
//
// A token reads sgn_<id>_<secret>. The id finds the key, the secret proves it: 256 random bits, of which only the
// SHA-256 is stored. A secret that random needs no slow hash; nobody can try 2^256 of them. The token is shown once,
// when it is made.
//
// A key belongs to a tenant and holds scopes. No scope implies another; above all, who may create executions may not
// thereby sign off their tool calls. Tenant and scopes come from the stored key alone, never from a request.
//
// # Promises
//
//   - [Verifier.Verify] costs no query per request: it trusts a key for three seconds after reading it, so a revocation takes
//     effect on all replicas within five. It fails closed: while the database does not answer, it refuses a key that
//     was not read within those three seconds.
//   - All the ways to be refused are one error. A caller cannot learn whether an id exists, or whether a key expired.
//   - Nothing here logs or returns a secret, but for the one answer of [Create].
//
// [FirstToken] makes the key with which a fresh installation begins.
package keys

// Package approvals decides what may run: by policy where it can, by asking a person where it must.
//
// # Model
//
// [Judge] is the policy: a pure function from an action, the execution's capabilities and its remembered rules to
// allow, ask or deny. An error never means allow.
//
// Where it says ask, the session writes an approval row and the event that shows it in one commit, and waits. The
// [Desk] takes the answers: one conditional update decides, only while the row is pending and, by database time, not
// expired. The desk then rings; the session reads the row again, checks the hash again, and only then starts the call.
//
// # Promises
//
//   - The first decision wins, on any replica. The same decision again is no error; another one is told who won.
//   - What runs is what was shown, or what the decider wrote in its place. [Hash] names it; an approval of something
//     that the decider has not seen is refused, unless the key is trusted with plain buttons.
//   - A lasting rule is built from what the store holds, never from fields that the client sends.
//   - An expired approval is expired, never a human no.
package approvals

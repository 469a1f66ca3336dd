// Package approvals decides what may run: by policy where it can, by asking a person where it must.
//
// # Model
//
// [Policy.Judge] judges: from an action, the links that its paths lead over, the execution's capabilities and its remembered
// rules to allow, ask or deny. It takes bounded work and bounded time; an error, and what takes longer, never mean allow.
//
// Where it says ask, the session writes an approval row and the event that shows it in one commit, and waits. The
// [Service] takes the answers: one conditional update decides, only while the row is pending and, by database time, not
// expired. The desk then rings; the session reads the row again, checks the hash again, and only then starts the call.
//
// # Permission rules
//
// A [domain.Matcher] says which calls a rule is about, and it is read in two ways. To allow, all of a call must be covered
// and all of it must be clear: who said yes to git log has not said yes to what is redirected from it. To deny or to ask, a
// part is enough, in whatever spelling: a wrapper, a redirection, the name of a domain without what stands before it.
// Where a call does not tell whether it is covered, because its line is unclear or because an external agent names no
// file, a rule that holds back asks. What is certain goes before what may be.
//
// A rule that denies a path to commands holds for all that they do: the [Isolation] keeps them from it ([Policy.Denied]). Where
// it cannot, the command asks.
//
// What a decision leaves behind is about one class of one agent.
//
// # Lost calls
//
// Of a call that was running when its server stopped nobody knows what it has done. It is put to a person as an approval of its
// own kind ([Lost]), who says what they found, or that it may be tried again. That answer lets nothing run: to try again is a
// new question, asked whatever the policy allows ([Repeated]). No rule answers either of them with yes.
//
// # Promises
//
//   - The first decision wins, on any replica. The same decision again is no error; another one is told who won.
//   - What runs is what was shown, or what the decider wrote in its place. [Hash] names it; an approval of something
//     that the decider has not seen is refused, unless the key is trusted with plain buttons.
//   - A lasting rule is built from what the store holds, never from fields that the client sends.
//   - Two calls never share a hash: what canonical JSON would change, such as a number beyond float64, has none.
//   - Matching takes bounded time, whatever stands in the rule and in the call.
//   - An expired approval is expired, never a human no; and a rule that denies is never told as a person who does.
//
// # Limits
//
// Patterns look at names, and at where the links among them lead when the call is judged. What a program does that is
// run is not seen, only what its line says: a rule that asks about a path does not ask about a program that writes there. A ** in the middle of a path (/srv/**/.env) does not hold back a search that
// begins below /srv; one at the end does. Of what an external agent does, there is only its word.
package approvals

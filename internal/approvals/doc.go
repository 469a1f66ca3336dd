// Package approvals decides what may run: by policy where it can, by asking a person where it must.
//
// # Model
//
// [Policy.Judge] judges: from an action, the links that its paths lead over, the execution's capabilities and its remembered
// rules to allow, ask or deny. It takes bounded work and bounded time; an error, and what takes longer, never mean allow.
//
// Where it says ask, the session writes an approval row and the event that shows it in one commit, and waits. The
// [Service] takes the answers: one conditional update decides, only while the row is pending and, by database time, not
// expired. The service then notifies the session, which reads the row again, checks the hash again, and only then starts the call.
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
// A remembered decision covers one class of one agent, in one environment by the definition that was shown.
//
// # The host
//
// Nothing but the policy holds a call in an environment without isolation. It needs [domain.ClassHost] beside its own class, and that asks or is denied:
// neither a request nor its full trust lets the call run. The patterns of the environment do, and a decision that was remembered for exactly this call.
//
// # Children
//
// The calls of a child are judged by the ceilings of the executions above it, too, with the same permission rules: a ceiling denies and asks like a policy
// of the child itself, and allows nothing. The strictest judgement counts.
//
// # Lost calls
//
// Nobody knows the outcome of a call that was running when its server stopped. An approval of its own kind ([AskOutcome]) asks a
// person, who reports the outcome or says that the call may run again. That answer starts nothing: the second run needs a new
// approval, whatever the policy allows ([Repeated]). No rule approves either of them.
//
// # Promises
//
//   - The first decision wins, on any replica. The same decision again is no error; the error of another one names the winner.
//   - A call runs exactly as it was shown, or as the decider edited it. [Hash] names it; an approval of a call that the decider
//     has not seen is refused, unless the key may approve without the hash.
//   - A lasting rule is built from what the store holds, never from fields that the client sends.
//   - Two calls never share a hash: a value that canonical JSON would change, such as a number beyond float64, has none.
//   - Matching takes bounded time, whatever stands in the rule and in the call.
//   - An expired approval is expired, never a human no; and a denial by a rule is never reported as one by a person.
//
// # Limits
//
// Patterns look at names, and at the targets of links when the call is judged. They see the command line, and not the work of
// the program: a rule that asks about a path does not ask about a program that writes there. A ** in the middle of a path (/srv/**/.env) does not hold back a search that
// begins below /srv; one at the end does. An external agent's calls are known by its own report only.
package approvals

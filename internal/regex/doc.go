// Package regex compiles regular expressions that somebody else wrote: rules of a client, searches of a model, foreign schemas.
//
// # Model
//
// RE2 takes time in proportion to the text times the compiled expression, and never more. But a short expression can compile to a
// large one: a{0,1000} has two thousand instructions, and six of them in a row hold gigabytes. So [Compile] takes a limit of
// instructions, estimates them from the syntax tree before it compiles, and then counts them. [Regexp.Size] is the count: callers that
// match often multiply it with the length of the text ([Regexp.Cost]) and spend that from a budget.
//
// # Promises
//
//   - Nothing larger than a small multiple of the limit is ever compiled.
//   - [Regexp.FindIndexContext] returns soon after its context ends, whatever the text.
//
// A [Regexp] may be used by any number of goroutines at once.
package regex

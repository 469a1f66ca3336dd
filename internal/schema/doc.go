// Package schema holds values against JSON Schemas that other people wrote: clients, agents, and the models behind both.
//
// # The model
//
// [Compile] reads a schema once; [Schema.Check] returns the places where a value does not fit, each with its JSON pointer
// and a short sentence. [OfObject] reports whether only objects fit a schema. [Answer] finds the one JSON value in a model's
// text. A schema without a draft follows 2020-12.
//
// # Promises
//
//   - Nothing is loaded: a schema that refers to another document is refused. The server would fetch pages and read files
//     for whoever sends it.
//   - A schema is at most 256 KiB long, a pattern a thousand bytes, and a check a bounded amount of work. Few lines are
//     enough for a schema that doubles its work with each level; the check of one that costs too much is given up, and
//     the value is told not to fit.
//   - A value that cannot be checked, for whatever reason, does not fit.
//   - Patterns are those of RE2, which has no catastrophes. One with a look-ahead is refused.
//   - Details are bounded and safe to show: they name places and the schema's demands.
//
// # Limits
//
// `$dynamicRef` and `$recursiveRef` are refused. One schema checks one value at a time; others wait.
//
// # Use
//
//	wanted, err := schema.Compile(json.RawMessage(`{"type": "object", "required": ["rows"]}`))
//	value, err := schema.Answer(text)
//	details := wanted.Check(value) // none: it fits
package schema

// Package schema holds values against JSON Schemas that other people wrote: clients, agents, and the models behind both.
//
// # The model
//
// [Compile] reads a schema once; [Schema.Check] tells of a value where it does not fit, each place with its JSON pointer
// and a short sentence. [OfObject] tells whether a schema is one of objects. [Answer] finds the one JSON value
// in what a model says. A schema that names no draft is one of 2020-12.
//
// # Promises
//
//   - Nothing is loaded: a schema that refers to another document is refused. The server would fetch pages and read files
//     for whoever sends it.
//   - A schema is at most 256 KiB long, a pattern a thousand bytes, and a check a bounded amount of work. Few lines are
//     enough for a schema that doubles its work with each level; the check of one that costs too much is given up, and
//     the value is told not to fit.
//   - A value that cannot be checked, for whatever reason, is told not to fit.
//   - Patterns are those of RE2, which has no catastrophes. One with a look-ahead is refused.
//   - What is told is safe to show, and bounded: it names places and what the schema wants there.
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

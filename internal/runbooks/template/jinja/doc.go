// Package jinja renders templates in MiniJinja's syntax.
//
// # Model
//
//	source ──lexer──▶ tokens ──parser──▶ functions that run ──run──▶ text
//
// The parser reads the tokens while the lexer makes them, and builds no tree: each expression becomes a function that gives
// a value, and each statement one that prints. A value is one of those that JSON has, or one of a few types of this
// package (values.go). Filters, tests, methods and functions are rows in tables.
//
// # Budget
//
// A [Budget] bounds what a template does: steps, bytes, levels. Whoever adds an operation charges it, and there are three rules:
//
//   - What goes through n items or bytes charges steps for them (step, scan) before it does.
//   - What allocates charges the bytes first: list, grow, repeat, replace, split and buffer do. A size that a
//     template computes, such as 'x' * n, is compared with the limit before it is multiplied.
//   - What calls itself is bounded: by the parser (deepest), or for values by enter and leave, and for macros by call. An
//     expression as long as the template is a chain of steps (chain) and no deep stack.
//
// # Faults
//
// What goes wrong is a [FaultError], thrown as a panic and caught at the entrance. A value that is not defined is no error
// yet: it is passed on until something but `default`, `is defined` and their like wants to use it.
//
// # Use
//
// [Decode] reads the variables, [Render] renders and returns the variables that the template takes
// from outside. All of them are safe anywhere.
package jinja

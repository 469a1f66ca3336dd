// Package jinja renders templates in MiniJinja's syntax. It is for child processes: see package template.
//
// # Model
//
//	source ──lexer──▶ tokens ──parser──▶ gonja's tree, with our operations in it ──gonja──▶ text
//
// gonja is Jinja2 for Go. It keeps scopes, runs loops, conditions and macros, and is the only such library that lives. But
// it is lenient where MiniJinja is strict (`'a' + 1`, a loop over a number, a name that is missing in a list), prints
// Python's True and ['x'], reads no line break within a tag, has the inline if only at the end of an output, reaches Go's
// methods and fields by reflection, and quotes values in its errors. Left as it is, it agrees with MiniJinja in 92 of the
// first 119 fixtures.
//
// So the grammar is ours, and it leaves gonja nothing to decide: each operator, subscript, call, test and filter becomes
// the call of an operation, which gonja takes for a filter. There a value is one of those that JSON has, or one of a few
// types of this package, and never anything with methods.
//
// # Faults
//
// What goes wrong is a [FaultError], thrown as a panic and caught at the entrance. gonja makes sentences of the errors that
// filters return, and adds values; panics it lets pass. A value that is not defined is no error yet: it is passed on until
// something but `default` or `is defined` wants to use it.
//
// # Use
//
// [Render] renders, [Inspect] only reads. Both tell which variables the template takes from outside. Inspect is safe
// anywhere: the depth of everything that it reads is bounded. Render is not, and must have a process to itself.
package jinja

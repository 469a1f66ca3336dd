// Package template fills variables into prompts.
//
// # Model
//
// A [Template] is a text with variables in it, in one of two syntaxes. [Jinja] is MiniJinja's: subscripts, loops,
// conditions, filters, macros; package jinja has the interpreter. [Dollar] is ${NAME} and nothing else. Variables are one
// JSON object.
//
// A template is hostile: who may create an execution may write one, and a model may have written what lies in the
// variables. `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}` would fill a stack, `{{ a ~ a }}` in a loop the memory, and
// three nested loops would never end. Go can neither stop a goroutine nor survive the first two. So the interpreter counts:
// every step, every level and every allocation is charged to a budget before it happens.
//
//	Render ── budget, memory of the pool ──▶ jinja.Decode, jinja.Render ──▶ text and usage
//
// All templates of one call share a [jinja.Budget]. What bounds many calls at once is a pool of memory: each call has its
// first MiB for itself and borrows the rest, and one tenant never has more than half of the pool.
//
// # Use
//
//	renderer := template.NewRenderer()
//	rendered, err := renderer.Render(ctx, tenant, variables, template.Template{Name: "/prompt", Source: prompt})
//
// An error is a [*domain.Error]; its detail points at the Name of the template. Each [Rendered] tells which variables its
// template uses.
//
// # Promises
//
//   - Whatever a template does, Render returns after a bounded number of steps, or soon after the end of its context.
//   - The same templates with the same variables give the same text or the same error on every machine, however busy.
//   - A template reads its variables and nothing else: no file, no environment, no Go value, no other template.
//   - Errors name the line, what is wrong, and names that the template itself spells; never a value of a variable.
//   - What is not defined is an error, where MiniJinja's strict mode makes it one.
//   - The order and the form of everything are MiniJinja's, but for the differences in docs/templates.md. The tests ask
//     the real engine. Numbers keep the form that they have in the JSON.
//   - Nobody waits for another call. What the pool has no memory for is [domain.CodeUnavailable], and so is a call whose
//     context has ended. Nothing is left of either.
//
// # Limits of this package
//
// Memory is charged when it is allocated and comes back when the call ends: what became garbage in between still counts.
// The stack is not charged: the limits of nesting bound it to 32 MiB. Many calls at once share the processors as all goroutines do; nothing bounds how many there are.
package template

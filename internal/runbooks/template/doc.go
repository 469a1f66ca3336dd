// Package template fills variables into prompts.
//
// # Model
//
// A [Template] is a text with variables in it, in one of two syntaxes. [Jinja] is MiniJinja's: subscripts, loops,
// conditions, filters, macros. [Dollar] is ${NAME} and nothing else. Variables are one JSON object.
//
// A template is hostile: who may create an execution may write one, and a model may have written what lies in the
// variables. `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}` fills a stack, `{{ a ~ a }}` in a loop the memory, three
// nested loops never end. Go can neither stop a goroutine nor survive the first two. So a template of the syntax Jinja
// runs in a process of its own, which is this same binary with a hidden argument:
//
//	Render ──JSON──▶ child: limits, then jinja.Render ──JSON──▶ Render
//
// Text without any tag, and the syntax Dollar, which has nothing that could run, stay in this process. All templates of
// one request go to one child, which is some milliseconds.
//
// Few children run at once, and one of them for each tenant at most. The calls of a tenant wait in a line of its own, and
// the lines get the places in turn: who fills his line with slow templates waits for himself.
//
// # Use
//
// main calls [Intercept] before anything else; so does TestMain of a package whose tests render. After that:
//
//	renderer := template.NewRenderer(template.Config{Executable: executable})
//	rendered, err := renderer.Render(ctx, tenant, variables, template.Template{Name: "/prompt", Source: prompt})
//
// An error is a [*domain.Error]; its detail points at the Name of the template. Each [Rendered] tells which variables its template uses.
//
// # Promises
//
//   - Whatever a template does, Render returns within the timeout and the wait for a place, and nothing of it is left.
//   - A template is refused for the work that it does, and not for the time that a busy machine takes for it, where the
//     system bounds processor time.
//   - A template reads its variables and nothing else: no file, no environment, no Go value, no other template.
//   - Errors name the line, what is wrong, and names that the template itself spells; never a value of a variable.
//   - What is not defined is an error, where MiniJinja's strict mode makes it one.
//   - The order and the form of everything are MiniJinja's, but for the differences in docs/templates.md. The tests ask
//     the real engine. Numbers keep the form that they have in the JSON.
//   - No more children run at once than Config says, and never two for one tenant. However many calls of a tenant wait,
//     another waits for one child of it at most.
//   - Nobody waits for a place longer than Config says, nor beyond the end of its context, nor behind 32 calls of its own
//     tenant: that is [domain.CodeUnavailable]. What nobody waits for any more leaves nothing behind.
//
// # Limits of this package
//
// The limits of memory and processor time are Linux's. Elsewhere a child is killed after its time by the clock, and until
// then takes what memory there is. The files of the server are not out of its reach by force, only by there being nothing
// in the engine that opens one.
package template

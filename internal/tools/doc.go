// Package tools holds the tools of the internal agent: one small interface, a tool per file, and beside each the text
// that the model reads about it.
//
// # The model
//
// A [Tool] is judged before it runs. [Tool.Check] reads the arguments and describes the call in a sentence,
// for the person who may have to approve it; it touches nothing. [Tool.Run] does it, through the [domain.Host] alone:
// a tool never opens a file and never starts a process by itself, so a refusal of the host is final. The two tools
// of the web speak to their hosts themselves; package egress decides at each dial whether they may.
//
// An [Asker] is a tool whose work is the answer of a person. It makes the question and interprets the answer; whoever
// calls it waits. A [ClientTool] is run by the client that declared it, and [SubmitBlocks] hands its blocks to the session: of
// these, too, only the arguments are read here, and so it is with a [DelegationTool], whose work children do. [DocumentTools]
// are the client tools that every assistant has.
//
// # Promises
//
//   - Run does exactly what Check accepts: both read the arguments with the same decoder, which refuses a field that
//     is there twice. Otherwise a person could be shown one value while another one ran.
//   - A summary is a single line of printable characters. A command cannot hide a newline, an escape sequence or a
//     right-to-left override from the person who approves it, nor pass a look-alike off as a letter of ASCII.
//   - What a tool holds in memory is bounded, whatever a file, a command or a web page says. What the model is not shown
//     of a long output is in the log, up to a megabyte, and can be read from there by its call.
//   - A web tool connects to the host that was judged, and to no other: a redirect elsewhere is reported, not followed.
//   - A failure inside a tool is in its [Result], never a Go error: the model gets it, and goes on.
//
// # Use
//
//	registry := tools.NewRegistry(tools.Bash{}, tools.Read{})
//	call, err := registry.Describe("bash", arguments, "/srv/runbooks")
//	tool, known := registry.Lookup("bash")
//	result := tool.Run(ctx, host, call)
package tools

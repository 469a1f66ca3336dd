// Package acptest has a scripted ACP agent: a program for tests that speaks the protocol over stdin and stdout, and
// does what its script says, be it right or wrong.
//
// # The model
//
// The agent by itself behaves well: it answers initialize, makes sessions, keeps them in files, answers a prompt
// without steps with one greeting, and a cancelled one with `cancelled` as soon as the step that runs has given up.
// Whatever else it does is a step, and there are two places for steps.
//
// A prompt brings its own. Each line of its last text block that begins with "#! " is a step; other lines are ignored.
// The prompt is answered when they are through, with end_turn if they say nothing else:
//
//	#! think Where are they?
//	#! call c1 kind=execute title="Run ls" input={"command":"ls"}
//	#! ask c1 mark=no options=yes:allow_once,no:reject_once
//	#! if c1 allowed file done.txt It ran.
//	#! if c1 allowed update c1 completed
//	#! say That was it.
//
// The command line brings the steps of phases with -script, which takes a file or the text itself. Each line names a
// phase, one of start, initialize, authenticate, new, load, resume, prompt, mode, config, model and eof. The steps run
// before the answer of that phase, or, where the line says so, after it:
//
//	start: stderr I am here
//	initialize: result {"protocolVersion":2}
//	new: say before the answer
//	after new: commands plan review
//	load: fail -32603 "disk full"
//	prompt: crash 3
//
// Requests are served at the same time, each in a turn of its own; prompts of one session wait for each other.
//
// # Steps
//
// A step is a verb and its words. A word ends at a space, unless it is "quoted\n" as in Go, 'raw', or JSON, which ends
// where its brackets close. Where a verb takes TEXT it is the rest of the line, as it stands or quoted, which keeps
// spaces at its ends. Words in brackets may be left out; [name=WORD] stands anywhere. A step that is wrong
// ends the turn with -32602.
//
// Talk:
//
//	say TEXT
//	    a chunk of the agent's message
//	think TEXT
//	    a chunk of thought
//	message [ID]
//	    following chunks carry this messageId; without an ID, none
//	burst N [SIZE]
//	    N chunks at full speed, `0 `, `1 ` and so on, each filled with dots to SIZE bytes
//	pace MS
//	    wait so long after every following update
//	silence MS
//	    send nothing for a while
//
// Tool calls:
//
//	call ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH]
//	    announce a tool call; pending, if no status is given
//	update ID STATUS [TEXT]
//	    the call's new status, with text as its content
//	diff ID PATH OLD NEW
//	    give the call a diff as its content
//
// Questions about calls:
//
//	ask ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH] [content=CONTENT]
//	    [options=OPTIONS] [mark=no]
//	    ask for permission and wait; says `ID answer=OPTION` and completes or fails the call, unless
//	        mark=no
//	ask& ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH] [content=CONTENT]
//	    [options=OPTIONS] [mark=no]
//	    as ask, but do not wait
//	join
//	    wait for the answers to all that ask& asked, in that order
//	withdraw ID
//	    take back a question of ask& ($/cancel_request)
//	if ID ANSWER STEP
//	    a step for one answer to a question: an option's id, allowed, rejected, cancelled or error
//
// State of the session:
//
//	plan [ENTRY...]
//	    the whole plan; an entry is `content`, or `content:status`
//	commands [NAME...]
//	    the commands that are available
//	mode ID
//	    the agent has changed its mode
//	config ID VALUE
//	    the agent has changed an option: sends the full list
//	info TITLE
//	    the session has a title
//	usage USED SIZE [COST]
//	    how full the context is, and what it cost so far in USD
//	raw JSON
//	    an update, word for word
//
// Requests to the client:
//
//	read PATH
//	    read a file through the client; says `read=CONTENT`
//	write PATH [TEXT]
//	    write a file through the client; says `write=ok`
//	terminal COMMAND [ARG...] [then=THEN] [release=no] [call=ID]
//	    run a command through the client: create, wait for its end, output, release; says
//	        `terminal=OUTPUT`, as JSON; then=kill kills it first, then=leave does not wait
//	elicit MESSAGE [SCHEMA] [mode=MODE] [url=URL] [call=ID]
//	    ask a person by elicitation/create; says `elicit=ACTION CONTENT`
//	notify METHOD [JSON]
//	    any notification
//	request METHOD [JSON]
//	    any request; says `METHOD=RESULT`
//	whoami
//	    says as one JSON text what the client gave: sessionId, opened, cwd, mcpServers, settings,
//	        clientCapabilities, clientInfo, argv, env (the names), processCwd, pid, ppid
//	blocks
//	    says as one JSON text the blocks of the prompt, with bytes and sha256 of what was in base64
//
// The agent's own hands:
//
//	file PATH [TEXT]
//	    write a file by itself, relative to the session's cwd; says `file=ok`
//	shell TEXT
//	    run a shell command by itself, in the session's cwd; says `shell=OUTPUT`
//	stderr TEXT
//	    a line on stderr
//
// Flow:
//
//	late MS STEP
//	    a step after the turn's answer, so many milliseconds later; the next one waits for its end
//	await PATH
//	    send nothing until this file is there
//	once PATH STEP
//	    a step that is taken only if this file is not there yet; it makes the file
//
// Ends:
//
//	stop REASON
//	    end the turn with this stopReason
//	fail CODE MESSAGE [JSON]
//	    end the turn with an error, perhaps with data
//	result JSON
//	    fields to merge into the answer, such as usage or _meta
//
// Faults:
//
//	crash [CODE]
//	    exit at once, with 1 or this code
//	hang
//	    never again send or read anything, and ignore the end of stdin and SIGTERM; a line `hanging` on
//	        stderr tells when
//	deafen
//	    never again read anything
//	ignoreeof
//	    live on when stdin ends
//	ignoreterm
//	    ignore SIGTERM, SIGINT and SIGHUP
//	oncancel MANNERS
//	    what a cancel does to the turn, wherever this step stands: good, ignore, error (the answer is
//	        one), endturn (so it says), needanswer (it waits for all permissions), withdraw (it takes
//	        them back)
//	noanswer
//	    the turn ends without an answer
//	answerexit [CODE]
//	    the turn ends, and the process with it, right behind the answer
//	as [ID]
//	    following updates and requests name this session instead; without an ID, their own
//	rawline TEXT
//	    a line on stdout, word for word: noise, or half a message
//	flood BYTES [LINE]
//	    noise on stdout, in lines of 1024 or LINE bytes; 0 is one line
//	stderrflood BYTES [LINE]
//	    the same on stderr
//	longline MB [as=AS]
//	    one line of so many megabytes: a notification, or as=request, or as=response, the turn's own
//	orphan PATH [SECONDS]
//	    start a `sleep` in a session of its own that holds stdin, stdout and stderr open, for 60
//	        seconds; its pid is in the file
//
// Options of a question are written `id:kind:Name,id:kind`, and `none` is an empty list; without them the question has
// once:allow_once, always:allow_always and no:reject_once. A question's tool call says only what the step says, so that
// any field may be missing, and it need not have been announced.
//
// What a request to the client led to is said in a message of its own, on a line: `read=CONTENT`, or
// `read=error -32601 Method not found`.
//
// # Command line
//
// Run the agent with -help for all flags. They choose what is offered (-no-load, -resume, -forget, -modes, -models, -config,
// -mcp, -takes, -auth), where sessions are kept (-state, by default below $HOME, so that a new process finds them),
// and what goes wrong (-crash and -hang at a phase, -protocol, -load-fails, -replay after, -reexec). What a flag
// does not bring, `initialize: result {…}` and its like do.
//
// # Use
//
//	func TestMain(m *testing.M) { os.Exit(acptest.Main(m)) }
//
//	agent := exec.Command(acptest.Build(t), "-state", t.TempDir(), "-crash", "load")
//	prompt := acptest.Prompt("say Hello", "ask c1 title=Delete", "stop max_tokens")
package acptest

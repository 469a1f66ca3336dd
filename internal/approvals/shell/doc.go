// Package shell reads the command line of an agent, so that a policy can judge it before anything runs.
//
// # Model
//
// [Parse] reads a line as bash -c would, with a real grammar, and takes it apart into a [Script]: the simple commands,
// wherever they stand, the files that they write, and why a person must look. A [Policy] is a compiled
// [domain.BashPolicy]; its Judge gives each command to the rules and takes the strictest answer.
//
//	"cd /srv && timeout 5 cat a.log | tee b"
//	     │ Parse
//	     ▼
//	Commands  cd /srv · cat a.log · tee b        each for itself before the rules
//	Writes    ?                                  by the capability to write; relative, behind a cd: not known where
//	Unclear   (nothing)                          otherwise: ask
//
// The grammar that is clear is small: plain words in lists, pipes, groups, if, while and simple for, with redirections.
// All else (variables, substitutions, functions, declarations, eval of what is not plain …) is walked through as well,
// so that deny rules see the commands in it, and is unclear. The same holds for programs: what a few hundred of them do
// with their arguments is in tables. A program that is in no table may do anything: it [Command.Runs].
//
// # Rules
//
// Rules are ordered, and the first that matches a command decides over it. Allow and deny do not look at the same:
//
//   - An allow rule sees [Command.Text] and nothing else, from its first character on, and must reach at least to the end
//     of the program's name. So ^cat\b does not allow "cat x; rm y", and no program of the name cat-and-mail. A pattern
//     for everything is ".*", not "" or ".". For what Runs it must match once more with the blanks within words closed:
//     kubectl -n "x get" delete pod y is no get. Options before a sub-command are best spelt out in a pattern, for
//     " --[a-z]+ status" also matches --type status stop.
//   - A deny rule finds its pattern anywhere: in the text, in the text without the folder of the program, in the line as
//     a whole, in wrappers as written, and in what a part may turn into, as far as that can be guessed.
//
// What no rule matches is decided by the default, and without one denied. A default of allow does not reach what Runs:
// that asks, until a rule names it. Nothing that a rule says makes an unclear line run unasked.
//
// # Wrappers and options
//
// timeout, nice, nohup, env, command, xargs, sh -c, eval and the like are looked through: the command behind them is
// judged in their place. sudo, doas and busybox stay beside it, and need a rule of their own. ssh, docker exec, strace and
// other carriers are not looked through: they run where a rule names them; deny rules see whatever of their words may be
// a command. Options that make a harmless program write or run something (sort -o, find -exec, tar --to-command,
// git -c) are written files, commands, or unclear, also for a rule that allows the program.
//
// Patterns and tildes are fine in the arguments of programs that no argument makes do harm (ls *.log). For others a
// pattern must begin with a plain character: find * finds a file called -delete, and obeys it.
//
// # Catastrophes
//
// [Script.Catastrophe] always asks, whatever a rule allows: removing, moving or giving away the root, a home, the
// current folder or a folder of the system; formatting, partitioning and overwriting disks; stopping the machine; killing
// everything; fork bombs; running what is downloaded or decoded; taking the firewall down; removing users or all
// scheduled jobs; overwriting files that the system does not start without; forced pushes and rewritten history; dropping
// databases; deleting namespaces, nodes, volumes or everything of a kind in a cluster; what the command lines of clouds,
// clusters, containers and backups call delete, destroy, uninstall or purge. A pattern or braces that may stand for one of
// these names count as that name, a substitution as any, and xargs removes what it is fed with. Lines that take too much
// work to be read count as catastrophic, too.
//
// # Promises and limits
//
//   - Nothing fails and nothing panics: what cannot be read is unclear.
//   - More of a line never makes a verdict milder: a denied part denies the whole.
//   - Work is bounded, and counted: a line has one budget for all readings of it and of the scripts within it, and another one
//     for holding it against 200 rules of RE2 whose compiled size is bounded too. What is not read to its end when a budget
//     is used up, or the caller's context ends, always asks.
//   - The files of the machine are not looked at. A program of a known name is taken for that program; a hostile PATH, a
//     hostile configuration (of git, of the pager) or a hostile .bashrc is the sandbox's to keep away.
//   - Writes holds what a line writes by itself, not what the programs that it Runs write.
//   - It catches accidents; the sandbox stops attacks.
package shell

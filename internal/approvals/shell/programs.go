package shell

import (
	"slices"
	"strings"
)

// judge reads the arguments of a known program: the files that it writes, and the parts that a rule must name or a person see.
type judge func(r *reading, c *call)

// programs are those whose arguments are understood. Every other program may do anything: it needs a rule that names it.
var programs map[string]judge

func init() {
	programs = map[string]judge{
		"cd": (*reading).moves, "pushd": (*reading).moves, "popd": (*reading).moves,
		"test": (*reading).tests, "[": (*reading).tests,
		"printf": (*reading).printf, "date": (*reading).date, "top": (*reading).top,
		"sort": (*reading).sort, "uniq": secondIsWritten("fsw", "cdDiuz"), "xxd": secondIsWritten("clgsonR", "abeEipru"),
		"sed": (*reading).sed, "git": (*reading).repository, "ip": (*reading).network, "openssl": (*reading).openssl,
		"awk": (*reading).awk, "gawk": (*reading).awk, "mawk": (*reading).awk, "nawk": (*reading).awk,
		"curl": (*reading).curl, "wget": (*reading).wget,
		"tar": (*reading).tar, "bsdtar": (*reading).tar, "unzip": (*reading).unzip, "zip": (*reading).zip,
		"dd": (*reading).dd, "split": (*reading).split, "csplit": (*reading).split, "mktemp": (*reading).split,
	}
	for name := range inert {
		programs[name] = func(*reading, *call) {}
	}
	for name, h := range readers {
		programs[name] = careful(h)
	}
	for name, s := range groups {
		programs[name] = s.judge
	}
	for name, lines := range phrases {
		programs[name] = exactly(lines...)
	}
	for name, w := range writers {
		programs[name] = w.judge
	}
	for name := range interpreters {
		programs[name] = func(_ *reading, c *call) { c.runs = c.runs || !justVersion(c.args()) }
	}
	for _, name := range []string{"gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"} {
		programs[name] = (*reading).compress
	}
}

// readers only read, but for the options that stand beside them.
var readers = map[string]harm{
	"file":       {letters: "CzZ", long: []string{"compile", "uncompress"}},
	"lsof":       {letters: "D"},
	"ss":         {letters: "KDF", long: []string{"kill", "diag", "filter"}},
	"netstat":    {},
	"dmesg":      {letters: "cCDEn", long: []string{"clear", "read-clear", "console-off", "console-on", "console-level"}},
	"journalctl": {letters: "", long: []string{"vacuum-size", "vacuum-time", "vacuum-files", "rotate", "flush", "sync", "relinquish-var", "smart-relinquish-var", "setup-keys", "update-catalog", "root", "image", "cursor-file", "interval", "force"}},
	"blkid":      {letters: "cgw", long: []string{"cache-file", "garbage-collect"}},
	"lsblk":      {},
	"findmnt":    {},
	"lspci":      {},
	"lsusb":      {},
	"lastlog":    {letters: "CS", long: []string{"clear", "set"}},
	"last":       {},
	"iostat":     {},
	"mpstat":     {},
	"sar":        {letters: "o"},
	"tree":       {letters: "oR", long: []string{"output"}},
	"rg":         {letters: "z", long: []string{"pre", "pre-glob", "hostname-bin", "search-zip"}},
	"fd":         {letters: "xX", long: []string{"exec", "exec-batch"}},
	"yq":         {letters: "is", long: []string{"inplace", "in-place", "split-exp", "split-exp-file"}},
	"iconv":      {letters: "o", long: []string{"output"}},
	"shuf":       {letters: "o", long: []string{"output"}},
	"strings":    {},
	"dig":        {},
	"host":       {},
	"nslookup":   {},
	"ping":       {},
	"traceroute": {},
	"tracepath":  {},
	"zgrep":      {},
	"envsubst":   {},
	"locale":     {},
	"ldconfig":   {letters: "CfrnNXlci"},
	"jobs":       {letters: "x"},
	"hostname":   {letters: "bF", long: []string{"boot", "file"}},
}

// careful is the judge of a program that only reads, unless one of these options is there.
func careful(h harm) judge {
	return func(r *reading, c *call) {
		if arg, found := h.in(c.args()); found {
			r.unclear("%s may write or run something by %s.", c.name(), quoted(arg))
		}
		if c.name() == "hostname" || c.name() == "ldconfig" {
			c.runs = c.runs || slices.ContainsFunc(c.args(), func(w word) bool { return !strings.HasPrefix(w.text, "-") }) ||
				c.name() == "ldconfig" && len(c.args()) != 1
		}
	}
}

// phrases are programs of which only these arguments are known to read.
var phrases = map[string][]string{
	"crontab":     {"-l"},
	"mount":       {"", "-l"},
	"swapon":      {"--show", "-s"},
	"ifconfig":    {"", "-a"},
	"route":       {"", "-n"},
	"arp":         {"-a", "-n", "-an"},
	"hostnamectl": {"", "status"},
	"timedatectl": {"", "status", "show"},
	"loginctl":    {"", "list-sessions", "list-users"},
	"sysctl":      {"-a"},
	"go":          {"version", "env"},
	"ulimit":      {"-a", "-n"},
	"iptables":    {"-L", "-L -n", "-L -n -v", "-nL", "-S"},
	"nft":         {"list ruleset", "list tables"},
	"rpm":         {"-qa"},
	"dpkg":        {"-l", "--list"},
	"ufw":         {"status", "status verbose"},
	"lvs":         {""},
	"vgs":         {""},
	"pvs":         {""},
}

// exactly is the judge of a program that reads with these arguments, and does anything with others.
func exactly(lines ...string) judge {
	return func(r *reading, c *call) {
		line := strings.Join(texts(c.args()), " ")
		if slices.Contains(lines, line) && !slices.ContainsFunc(c.args(), func(w word) bool { return strings.Contains(w.text, " ") }) {
			return
		}
		c.runs = true
		r.suspect(c.args())
	}
}

// moves notes that the folder changes, and where to.
func (r *reading) moves(c *call) {
	r.moved = true
	operands := slices.DeleteFunc(texts(c.args()), func(a string) bool { return strings.HasPrefix(a, "-") && len(a) > 1 })
	switch {
	case len(operands) == 0 && c.name() == "cd":
		r.folder = "~"
	case len(operands) == 1 && operands[0] != "-" && c.name() != "popd":
		r.folder = r.within(operands[0])
		if !strings.HasPrefix(r.folder, "/") {
			r.folder = ""
		}
	default:
		r.folder = ""
	}
}

// tests: -v and -R look at a variable, and run what its index holds, as in a[$(id)].
func (r *reading) tests(c *call) {
	for _, arg := range c.args() {
		if arg.text == "-v" || arg.text == "-R" {
			r.unclear("A test looks at a variable, which may run what its index holds.")
		}
	}
}

// printf -v assigns, also to an index, which runs what it holds.
func (r *reading) printf(c *call) {
	if len(c.args()) > 0 && strings.HasPrefix(c.args()[0].text, "-") {
		r.unclear("printf may assign a variable.")
	}
}

func (r *reading) date(c *call) {
	known := options{flags: "uRI", values: "dr", long: []string{"utc", "universal", "iso-8601", "rfc-email", "rfc-3339"}, valued: []string{"date", "reference"}}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	for _, operand := range p.operands {
		if !strings.HasPrefix(operand.text, "+") {
			r.unclear("date sets the clock.")
		}
	}
}

// top writes its settings when it is told to by its keys; without a terminal it reads keys from where it is pointed.
func (r *reading) top(c *call) {
	known := options{flags: "bciHS", values: "ndoupwE"}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	if !p.has("b") {
		c.runs = true
	}
}

func (r *reading) sort(c *call) {
	known := options{
		flags: "bdfghiMnRrVcCmsuz", values: "kStoT",
		long:   []string{"reverse", "unique", "numeric-sort", "human-numeric-sort", "version-sort", "general-numeric-sort", "ignore-case", "check", "stable", "zero-terminated", "month-sort"},
		valued: []string{"key", "field-separator", "output", "buffer-size", "parallel"},
	}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	for _, file := range p.valuesOf("o", "output") {
		r.write(file)
	}
}

// secondIsWritten is the judge of a program that reads its first operand and writes its second.
func secondIsWritten(values, flags string) judge {
	return func(r *reading, c *call) {
		p := options{flags: flags, values: values, long: []string{"count", "repeated", "unique", "ignore-case"}}.parse(c.args(), false)
		r.refuseOdd(c, p)
		for i, operand := range p.operands {
			if i > 0 || operand.kind != plain {
				r.write(operand)
			}
		}
	}
}

// openssl: the inspection of certificates is known.
func (r *reading) openssl(c *call) {
	c.runs = true
	args := texts(c.args())
	for i, arg := range args {
		if strings.TrimLeft(arg, "-") == "out" && i+1 < len(args) {
			r.write(c.args()[i+1])
		}
	}
	if len(args) == 0 || args[0] != "x509" && args[0] != "version" || strings.Contains(c.words[0].text, "/") {
		return
	}
	known := set("-in -noout -text -dates -subject -issuer -enddate -startdate -fingerprint -sha256 -serial -checkend -ext -a")
	c.runs = slices.ContainsFunc(args[1:], func(arg string) bool { return strings.HasPrefix(arg, "-") && !known[arg] })
}

// network is ip: it shows, unless a verb says otherwise.
func (r *reading) network(c *call) {
	showing := set("-4 -6 -s -d -br -brief -c -color -j -json -p -pretty -o -oneline -details -h -human -statistics")
	var words []string
	for _, arg := range c.args() {
		if !showing[arg.text] {
			words = append(words, arg.text)
		}
	}
	objects := set("a ad addr address r ro route l link n neigh rule maddr")
	verbs := set("show list ls s l get")
	shown := len(words) > 0 && objects[words[0]] && (len(words) == 1 || verbs[words[1]])
	if !shown {
		c.runs = true
		r.suspect(c.args())
	}
}

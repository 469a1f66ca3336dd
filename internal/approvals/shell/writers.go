package shell

import (
	"slices"
	"strings"
)

// writer is a program that writes, or takes away, the files that it names.
type writer struct {
	values string // its options with a value
	skip   int    // operands before the files: the mode of chmod
	last   bool   // it writes its last operand only: cp
	keeps  bool   // it changes who may use the files, and leaves what is in them
}

var writers = map[string]writer{
	"rm": {}, "rmdir": {}, "unlink": {}, "mkfifo": {values: "m"}, "mkdir": {values: "m"}, "tee": {}, "touch": {values: "drt"},
	"truncate": {values: "sr"}, "shred": {values: "ns"}, "mv": {values: "tS"}, "mknod": {values: "m"},
	"chmod": {skip: 1, keeps: true}, "chown": {skip: 1, keeps: true}, "chgrp": {skip: 1, keeps: true}, "chattr": {skip: 1, keeps: true}, "setfacl": {values: "mxM"},
	"cp": {values: "tS", last: true}, "ln": {values: "tS", last: true}, "install": {values: "tSmog", last: true},
}

func (w writer) judge(r *reading, c *call) {
	known := options{
		values: w.values,
		long: []string{"recursive", "force", "verbose", "parents", "interactive", "no-clobber", "update", "archive", "preserve",
			"symbolic", "no-dereference", "append", "no-create", "preserve-root", "changes", "silent", "quiet", "remove", "zero"},
		valued: []string{"target-directory", "reference", "mode", "date", "size", "suffix"},
	}
	p := known.parse(c.args(), false)
	if arg, found := (harm{long: []string{"strip-program"}}).in(c.args()); found {
		r.unclear("%s may run something by %s.", c.name(), quoted(arg))
	}
	if r.folder != "" {
		r.shade(w.inFolder(r, c, p))
	}
	overwritten := len(r.targets)
	for _, file := range w.files(c, p) {
		r.write(file)
	}
	if w.keeps {
		r.targets = r.targets[:overwritten]
	}
	for _, o := range p.options {
		if len(o.name) > 1 && !o.known { // perhaps --target-directory in short: then the files are others
			r.write(word{Unknown, opaque})
		}
	}
	if c.open {
		r.write(word{Unknown, opaque})
	}
}

// inFolder is the command as it would be in another folder: with the names of its files in the folder that the line changed to.
func (w writer) inFolder(r *reading, c *call, p parsed) []word {
	words := []word{c.words[0]}
	for _, arg := range c.args() {
		if strings.HasPrefix(arg.text, "-") {
			words = append(words, arg)
		}
	}
	words = append(words, p.operands[:w.skipped(p)]...)
	for _, file := range w.files(c, p) {
		words = append(words, word{r.within(file.text), file.kind})
	}
	return words
}

// files are the operands that are written.
func (w writer) files(c *call, p parsed) []word {
	files := p.operands[w.skipped(p):]
	folders := p.valuesOf("t", "target-directory")
	switch {
	case c.name() == "mv":
		return append(files, folders...)
	case !w.last, c.name() == "install" && p.has("d", "directory"):
		return files
	case len(folders) > 0:
		return folders
	}
	return files[max(0, len(files)-1):]
}

// skipped is how many operands stand before the files.
func (w writer) skipped(p parsed) int {
	if p.has("reference") || modeAsOption(p) {
		return 0
	}
	return min(w.skip, len(p.operands))
}

// modeAsOption reports whether a mode looks like an option, as in chmod -x file: then the first operand is a file.
func modeAsOption(p parsed) bool {
	return slices.ContainsFunc(p.options, func(o option) bool { return len(o.name) == 1 && !strings.Contains("RvfchHLP", o.name) })
}

func (r *reading) dd(c *call) {
	for _, arg := range c.args() {
		if name, isOutput := strings.CutPrefix(arg.text, "of="); isOutput {
			r.write(word{name, arg.kind})
		}
	}
}

// split writes files whose names it makes up.
func (r *reading) split(c *call) {
	if arg, found := (harm{long: []string{"filter"}}).in(c.args()); found {
		r.unclear("%s runs the command in %s.", c.name(), quoted(arg))
	}
	r.write(word{Unknown, opaque})
}

// compress replaces files, unless it only shows or tests them.
func (r *reading) compress(c *call) {
	known := options{flags: "cdtlkvq0123456789", long: []string{"stdout", "to-stdout", "test", "list", "decompress"}}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	if len(p.operands) > 0 && !p.has("c", "t", "l", "stdout", "to-stdout", "test", "list") {
		r.write(word{Unknown, opaque})
	}
}

// tar lists, or writes what the archive says. A name with a colon is on another machine, and tar starts a shell for it.
func (r *reading) tar(c *call) {
	args := c.args()
	if len(args) > 0 && !strings.HasPrefix(args[0].text, "-") {
		args = unbundled(args)
	}
	known := options{
		flags: "tvzjJaxcrukpOmS", values: "fC",
		long:   []string{"list", "extract", "create", "verbose", "gzip", "bzip2", "xz", "zstd", "append", "update"},
		valued: []string{"file", "directory", "exclude", "strip-components"},
	}
	p := known.parse(args, false)
	r.refuseOdd(c, p)
	archives := p.valuesOf("f", "file")
	for _, archive := range archives {
		if strings.Contains(archive.text, ":") || archive.kind != plain {
			r.unclear("tar may start a shell for the archive %s.", quoted(archive.text))
		}
	}
	switch {
	case p.has("c", "create", "r", "append", "u", "update"):
		for _, archive := range archives {
			r.write(archive)
		}
	case !p.has("t", "list") || p.has("x", "extract"):
		r.write(word{Unknown, opaque})
	}
}

// unbundled spells out the old style without a dash, where the values of all letters stand behind them: tar tfz x is
// tar -t -f x -z.
func unbundled(args []word) []word {
	bundle, rest := args[0], args[1:]
	var out []word
	for _, letter := range bundle.text {
		out = append(out, word{"-" + string(letter), bundle.kind})
		if strings.ContainsRune("fCbFgILNTVXHK", letter) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

func (r *reading) unzip(c *call) {
	known := options{flags: "lvtpqZ1"}
	p := known.parse(c.args(), false)
	if _, odd := p.odd(); odd || !p.has("l", "v", "t", "p", "Z") {
		r.write(word{Unknown, opaque})
	}
}

func (r *reading) zip(c *call) {
	known := options{flags: "rq9123456780jv", long: []string{"recurse-paths", "quiet"}}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	if len(p.operands) > 0 {
		r.write(p.operands[0])
	}
}

// curl has hundreds of options; those that are not here may write, or read a file with further options. A rule has to
// name it, and wget, also where it only reads: an address carries data away.
func (r *reading) curl(c *call) {
	c.runs = true
	known := options{
		flags: "sSLfkIivgG46#NO", values: "HAemXubdrwoDcTUyYzC",
		long: []string{"silent", "show-error", "location", "fail", "fail-with-body", "insecure", "head", "include", "verbose",
			"compressed", "get", "http1.1", "http2", "ipv4", "ipv6", "no-progress-meter", "progress-bar", "remote-name"},
		valued: []string{"max-time", "connect-timeout", "retry", "retry-delay", "header", "user-agent", "request", "data", "data-raw",
			"data-binary", "data-urlencode", "json", "url", "user", "output", "write-out", "resolve", "cacert", "cookie",
			"dump-header", "cookie-jar", "upload-file", "form-string"},
	}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	for _, file := range p.valuesOf("o", "output", "D", "dump-header", "c", "cookie-jar") {
		r.write(file)
	}
	if p.has("O", "remote-name") {
		r.write(word{Unknown, opaque})
	}
	for _, format := range p.valuesOf("w", "write-out") {
		if strings.Contains(format.text, "%output") || strings.HasPrefix(format.text, "@") || format.kind != plain {
			r.unclear("curl may write where its format says.")
		}
	}
}

func (r *reading) wget(c *call) {
	c.runs = true
	known := options{
		flags: "qnvSc46d", values: "OTtU",
		long:   []string{"quiet", "spider", "no-verbose", "server-response", "continue", "no-check-certificate"},
		valued: []string{"output-document", "timeout", "tries", "header", "user-agent"},
	}
	p := known.parse(c.args(), false)
	r.refuseOdd(c, p)
	outputs := p.valuesOf("O", "output-document")
	for _, file := range outputs {
		if file.text != "-" {
			r.write(file)
		}
	}
	if len(outputs) == 0 && !p.has("spider") {
		r.write(word{Unknown, opaque})
	}
}

package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A command in an environment with the processes of the host finds three small programs of ours before those of the system: ps, top and pgrep.
// They are this binary, and show a list that the server sends over the command's loopback. The host's /proc is never mounted: with it a command
// would read the environment, memory and files of others, the server's among them.

var processPrograms = map[string]func(processes []HostProcess, args []string) (string, error){"ps": ps, "top": top, "pgrep": pgrep}

// showProcesses is the program of the name that this binary was started by; false if it was started as itself.
func showProcesses(args []string) (exit int, shown bool) {
	program := processPrograms[filepath.Base(args[0])]
	if program == nil {
		return 0, false
	}
	if binary, err := os.Readlink(self); err != nil || filepath.Dir(binary) != ProgramFolder {
		return 0, false
	}
	processes, err := hostProcesses()
	var text string
	if err == nil {
		text, err = program(processes, args[1:])
	}
	fmt.Print(text)
	switch _, isUsage := errors.AsType[usageError](err); {
	case isUsage && filepath.Base(args[0]) == "pgrep":
		fmt.Fprintf(os.Stderr, "pgrep: %v\n", err)
		return 2, true
	case err != nil && !errors.Is(err, errNothing):
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(args[0]), err)
		return 1, true
	case err != nil || text == "":
		return 1, true
	}
	return 0, true
}

// hostProcesses asks the server.
func hostProcesses() ([]HostProcess, error) {
	place, err := placesOf([]string{processRelay})
	if err != nil {
		return nil, err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	connection := os.NewFile(uintptr(socket), "processes")
	defer connection.Close()
	if err := unix.Connect(socket, &unix.SockaddrInet4{Addr: place[0].Address, Port: int(place[0].Port)}); err != nil {
		return nil, fmt.Errorf("the list of processes cannot be had: %w", err)
	}
	var processes []HostProcess
	if err := json.NewDecoder(connection).Decode(&processes); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the list of processes cannot be read: %w", err)
	}
	return processes, nil
}

// errNothing is the error where no process fits; the text is printed nevertheless.
var errNothing = errors.New("no process fits")

// column is what ps can show of a process.
type column struct {
	head  string
	right bool
	of    func(HostProcess) string
}

var columns = map[string]column{
	"pid":   {"PID", true, func(p HostProcess) string { return strconv.Itoa(p.PID) }},
	"ppid":  {"PPID", true, func(p HostProcess) string { return strconv.Itoa(p.PPID) }},
	"user":  {"USER", false, func(p HostProcess) string { return p.User }},
	"pcpu":  {"%CPU", true, func(p HostProcess) string { return strconv.FormatFloat(p.CPU, 'f', 1, 64) }},
	"rss":   {"RSS", true, func(p HostProcess) string { return strconv.FormatUint(p.Memory>>10, 10) }},
	"vsz":   {"VSZ", true, func(p HostProcess) string { return strconv.FormatUint(p.Virtual>>10, 10) }},
	"pmem":  {"%MEM", true, func(p HostProcess) string { return strconv.FormatFloat(percentOfMemory(p), 'f', 1, 64) }},
	"stat":  {"STAT", false, func(p HostProcess) string { return p.State }},
	"start": {"START", false, func(p HostProcess) string { return started(p.Started) }},
	"etime": {"ELAPSED", true, func(p HostProcess) string { return clockTime(time.Since(p.Started)) }},
	"time":  {"TIME", true, func(p HostProcess) string { return clockTime(p.Time) }},
	"tty":   {"TTY", false, func(HostProcess) string { return "?" }},
	"comm":  {"COMMAND", false, func(p HostProcess) string { return p.Name }},
	"args":  {"COMMAND", false, HostProcess.commandLine},
}

// otherNames of the columns that programs and people use.
var otherNames = map[string]string{
	"%cpu": "pcpu", "%mem": "pmem", "c": "pcpu", "cmd": "args", "command": "args", "euser": "user", "uid": "user", "uname": "user", "ucmd": "comm",
	"state": "stat", "s": "stat", "stime": "start", "start_time": "start", "lstart": "start", "cputime": "time", "tt": "tty", "tname": "tty",
	"vsize": "vsz", "rssize": "rss", "rsz": "rss", "mem": "pmem",
}

var memoryOfAll = machineMemory()

func percentOfMemory(p HostProcess) float64 {
	return 100 * float64(p.Memory) / float64(max(1, memoryOfAll))
}

func started(at time.Time) string {
	if time.Since(at) < 24*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("Jan02")
}

func clockTime(d time.Duration) string {
	seconds := int(d.Seconds())
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, text)
	}
	return text
}

func (p HostProcess) commandLine() string {
	if p.Arguments == "" {
		return "[" + p.Name + "]"
	}
	return p.Arguments
}

// psOptions are those with a value, which may follow at once or as an argument of its own.
var psOptions = []string{"-o", "-O", "-p", "-q", "-C", "-u", "-U", "--pid", "--ppid", "--user", "--User", "--sort", "--format", "--cols", "--columns", "--width"}

// ps knows the options that people and scripts use most, and says so about others.
func ps(processes []HostProcess, args []string) (string, error) {
	chosen, heads, all := []string{"pid", "tty", "time", "comm"}, true, false
	var shown []string
	var sort string
	var keeps []func(HostProcess) bool
	for i := 0; i < len(args); i++ {
		option, value, given := splitOption(args[i])
		if option == "" || option == "-o" && !strings.HasPrefix(args[i], "-o") {
			all = all || !strings.HasPrefix(args[i], "--") && strings.ContainsAny(args[i], "aexA")
		}
		if option != "" && !given {
			if i++; i >= len(args) {
				return "", fmt.Errorf("the option %s needs a value", option)
			}
			value = args[i] //nolint:gosec // the line above bounds i
		}
		values := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		switch option {
		case "-o", "-O", "--format":
			shown = append(shown, values...)
		case "--sort":
			sort = value
		case "-p", "-q", "--pid":
			keeps = append(keeps, func(p HostProcess) bool { return slices.Contains(values, strconv.Itoa(p.PID)) })
		case "--ppid":
			keeps = append(keeps, func(p HostProcess) bool { return slices.Contains(values, strconv.Itoa(p.PPID)) })
		case "-C":
			keeps = append(keeps, func(p HostProcess) bool { return slices.Contains(values, p.Name) })
		case "-u", "-U", "--user", "--User":
			keeps = append(keeps, func(p HostProcess) bool { return slices.Contains(values, p.User) })
		case "":
			switch letters := strings.TrimPrefix(args[i], "-"); {
			case args[i] == "--no-headers" || args[i] == "--no-heading" || args[i] == "h":
				heads = false
			case letters == "" || strings.Trim(letters, "axuewfFlAH") != "":
				return "", fmt.Errorf("there is no option %s here; this ps knows aux, -ef, -o, --sort, -p, --ppid, -C and -u", args[i])
			case strings.Contains(letters, "u"):
				chosen = []string{"user", "pid", "pcpu", "pmem", "vsz", "rss", "tty", "stat", "start", "time", "args"}
			case strings.ContainsAny(letters, "fFl"):
				chosen = []string{"user", "pid", "ppid", "pcpu", "start", "tty", "time", "args"}
			}
		}
	}
	if len(shown) > 0 {
		chosen = shown
	}
	if len(keeps) > 0 && !all { // of several selections, ps shows what one of them names
		processes = slices.DeleteFunc(processes, func(p HostProcess) bool {
			return !slices.ContainsFunc(keeps, func(keep func(HostProcess) bool) bool { return keep(p) })
		})
	}
	if sort != "" {
		if err := sortBy(processes, sort); err != nil {
			return "", err
		}
	}
	text, err := table(processes, chosen, heads)
	if err == nil && len(processes) == 0 {
		err = errNothing
	}
	return text, err
}

// splitOption returns an option of ps that takes a value, and the value if it stands in the same argument. No option is empty.
func splitOption(arg string) (option, value string, given bool) {
	if name, value, given := strings.Cut(arg, "="); strings.HasPrefix(arg, "--") && slices.Contains(psOptions, name) {
		return name, value, given
	}
	switch {
	case arg == "o" || arg == "p":
		return "-" + arg, "", false
	case len(arg) > 2 && strings.Trim(arg, "-aexAw") == "o" && strings.HasSuffix(arg, "o"): // -eo, axo
		return "-o", "", false
	case len(arg) >= 2 && !strings.HasPrefix(arg, "--") && slices.Contains(psOptions, arg[:2]):
		return arg[:2], arg[2:], len(arg) > 2
	}
	return "", "", false
}

// sortBy sorts by columns, each with - for the largest first.
func sortBy(processes []HostProcess, by string) error {
	for _, key := range slices.Backward(strings.Split(by, ",")) {
		name, descending := strings.CutPrefix(strings.TrimPrefix(key, "+"), "-")
		name = strings.ToLower(name)
		name = cmp.Or(otherNames[name], name)
		if _, known := columns[name]; !known {
			return fmt.Errorf("there is no column %s; there are %s", name, columnNames())
		}
		slices.SortStableFunc(processes, func(a, b HostProcess) int {
			if descending {
				a, b = b, a
			}
			switch name {
			case "pid":
				return cmp.Compare(a.PID, b.PID)
			case "ppid":
				return cmp.Compare(a.PPID, b.PPID)
			case "pcpu":
				return cmp.Compare(a.CPU, b.CPU)
			case "rss", "pmem":
				return cmp.Compare(a.Memory, b.Memory)
			case "vsz":
				return cmp.Compare(a.Virtual, b.Virtual)
			case "start":
				return a.Started.Compare(b.Started)
			case "etime":
				return b.Started.Compare(a.Started)
			case "time":
				return cmp.Compare(a.Time, b.Time)
			}
			return strings.Compare(columns[name].of(a), columns[name].of(b))
		})
	}
	return nil
}

func columnNames() string {
	var names []string
	for name := range columns {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// table prints the columns, each as wide as its widest entry, the last one as it is.
func table(processes []HostProcess, names []string, heads bool) (string, error) {
	var rows [][]string
	var chosen []column
	var head []string
	for _, name := range names {
		name, title, renamed := strings.Cut(strings.ToLower(name), "=")
		known, exists := columns[cmp.Or(otherNames[name], name)]
		if !exists {
			return "", fmt.Errorf("there is no column %s; there are %s", name, columnNames())
		}
		chosen = append(chosen, known)
		if renamed {
			head = append(head, title)
		} else {
			head = append(head, known.head)
		}
	}
	if heads && strings.Join(head, "") != "" {
		rows = append(rows, head)
	}
	for _, p := range processes {
		var row []string
		for _, c := range chosen {
			row = append(row, c.of(p))
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(chosen))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			switch {
			case chosen[i].right:
				fmt.Fprintf(&text, "%*s", widths[i], cell)
			case i == len(row)-1:
				text.WriteString(cell)
			default:
				fmt.Fprintf(&text, "%-*s", widths[i], cell)
			}
			if i < len(row)-1 {
				text.WriteByte(' ')
			}
		}
		text.WriteByte('\n')
	}
	return text.String(), nil
}

// topScreen is how many processes top shows.
const topScreen = 40

// top prints one screen, which is what -b -n 1 asks for, whatever it is asked for besides: -o sorts it, -p and -u choose.
func top(processes []HostProcess, args []string) (string, error) {
	sort := "-pcpu"
	value := func(i int, letter string) (string, bool) {
		cluster := strings.TrimPrefix(args[i], "-")
		switch at := strings.Index(cluster, letter); {
		case !strings.HasPrefix(args[i], "-") || at < 0:
			return "", false
		case at+1 < len(cluster):
			return cluster[at+1:], true
		case i+1 < len(args):
			return args[i+1], true
		}
		return "", false
	}
	for i := range args {
		if field, chosen := value(i, "o"); chosen {
			if name := strings.ToLower(strings.TrimLeft(field, "+-")); name == "virt" || name == "res" {
				field = map[string]string{"virt": "vsz", "res": "rss"}[name]
			}
			sort = "-" + strings.TrimLeft(field, "+-")
		}
		if list, chosen := value(i, "p"); chosen {
			processes = slices.DeleteFunc(processes, func(p HostProcess) bool { return !isAmong(list, strconv.Itoa(p.PID)) })
		}
		if list, chosen := value(i, "u"); chosen {
			processes = slices.DeleteFunc(processes, func(p HostProcess) bool { return !isAmong(list, p.User) })
		}
	}
	if err := sortBy(processes, sort); err != nil {
		return "", err
	}
	head := fmt.Sprintf("top - %s, %d processes, %d MiB of memory\n\n", time.Now().Format("15:04:05"), len(processes), memoryOfAll>>20)
	rest, err := table(processes[:min(topScreen, len(processes))], []string{"pid", "user", "vsz", "rss", "stat", "pcpu", "pmem", "time", "comm"}, true)
	return head + rest, err
}

// pgrepQuery is what pgrep looks for.
type pgrepQuery struct {
	pattern                    string
	full, exact, fold, without bool
	names, lines, count        bool
	newest, oldest             bool
	user, parent, delimiter    string
}

// pgrepFlags are those without a value. pgrepValues are followed by one.
var (
	pgrepFlags = map[string]func(*pgrepQuery){
		"f": func(q *pgrepQuery) { q.full = true }, "x": func(q *pgrepQuery) { q.exact = true }, "i": func(q *pgrepQuery) { q.fold = true },
		"v": func(q *pgrepQuery) { q.without = true }, "l": func(q *pgrepQuery) { q.names = true }, "a": func(q *pgrepQuery) { q.lines = true },
		"c": func(q *pgrepQuery) { q.count = true }, "n": func(q *pgrepQuery) { q.newest = true }, "o": func(q *pgrepQuery) { q.oldest = true },
	}
	pgrepValues = map[string]func(*pgrepQuery) *string{
		"u": func(q *pgrepQuery) *string { return &q.user }, "U": func(q *pgrepQuery) *string { return &q.user },
		"P": func(q *pgrepQuery) *string { return &q.parent }, "d": func(q *pgrepQuery) *string { return &q.delimiter },
	}
	pgrepLong = map[string]string{
		"full": "f", "exact": "x", "ignore-case": "i", "inverse": "v", "list-name": "l", "list-full": "a", "count": "c", "newest": "n", "oldest": "o",
		"euid": "u", "uid": "U", "parent": "P", "delimiter": "d",
	}
)

// usageError is a mistake in the arguments.
type usageError struct{ error }

func parsePgrep(args []string) (pgrepQuery, error) {
	q := pgrepQuery{delimiter: "\n"}
	patterns := 0
	for i := 0; i < len(args); i++ {
		letters, isShort := strings.CutPrefix(args[i], "-")
		if long, isLong := strings.CutPrefix(args[i], "--"); isLong {
			name, value, given := strings.Cut(long, "=")
			letters, isShort = pgrepLong[name]+value, pgrepLong[name] != "" && (pgrepFlags[pgrepLong[name]] == nil || !given)
			if !isShort {
				return q, unknownPgrep(args[i])
			}
		}
		if !isShort || letters == "" {
			q.pattern = args[i]
			patterns++
			continue
		}
		for letters != "" {
			letter := letters[:1]
			letters = letters[1:]
			set, takes := pgrepFlags[letter], pgrepValues[letter]
			switch {
			case set != nil:
				set(&q)
			case takes != nil:
				if letters == "" {
					if i++; i >= len(args) {
						return q, usageError{fmt.Errorf("the option -%s needs a value", letter)}
					}
					letters = args[i]
				}
				*takes(&q) = letters
				letters = ""
			default:
				return q, unknownPgrep("-" + letter)
			}
		}
	}
	switch {
	case patterns > 1:
		return q, usageError{errors.New("only one pattern can be given")}
	case patterns == 0 && q.user == "" && q.parent == "" && !q.newest && !q.oldest:
		return q, usageError{errors.New("there is nothing to look for: give a pattern, -u or -P")}
	}
	return q, nil
}

func unknownPgrep(option string) error {
	return usageError{fmt.Errorf("there is no option %s here; this pgrep knows -f, -x, -i, -v, -l, -a, -c, -n, -o, -d, -u and -P", option)}
}

// pgrep prints the numbers of the processes that fit.
func pgrep(processes []HostProcess, args []string) (string, error) {
	q, err := parsePgrep(args)
	if err != nil {
		return "", err
	}
	pattern := q.pattern
	if q.exact {
		pattern = "^(?:" + pattern + ")$"
	}
	if q.fold {
		pattern = "(?i)" + pattern
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return "", usageError{err}
	}
	found := slices.DeleteFunc(slices.Clone(processes), func(p HostProcess) bool {
		subject := p.Name
		if q.full {
			subject = p.commandLine()
		}
		fits := (q.user == "" || isAmong(q.user, p.User)) && (q.parent == "" || isAmong(q.parent, strconv.Itoa(p.PPID))) && expression.MatchString(subject)
		return fits == q.without
	})
	byStart := func(a, b HostProcess) int { return a.Started.Compare(b.Started) }
	switch {
	case len(found) > 0 && q.newest:
		found = []HostProcess{slices.MaxFunc(found, byStart)}
	case len(found) > 0 && q.oldest:
		found = []HostProcess{slices.MinFunc(found, byStart)}
	}
	if q.count {
		text := fmt.Sprintf("%d\n", len(found))
		if len(found) == 0 {
			return text, errNothing
		}
		return text, nil
	}
	return q.print(found), nil
}

func (q pgrepQuery) print(found []HostProcess) string {
	var all []string
	for _, p := range found {
		switch {
		case q.lines || q.names && q.full:
			all = append(all, fmt.Sprintf("%d %s", p.PID, p.commandLine()))
		case q.names:
			all = append(all, fmt.Sprintf("%d %s", p.PID, p.Name))
		default:
			all = append(all, strconv.Itoa(p.PID))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, q.delimiter) + "\n"
}

// isAmong reports whether a list of an option, separated by commas, names something.
func isAmong(list, one string) bool { return slices.Contains(strings.Split(list, ","), one) }

package program

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/secrets"
)

// found is what a program is made of, as far as its command line tells. All paths are without links.
type found struct {
	files   []string // the program, its interpreters, and files among its arguments
	folders []string // among its arguments
}

// search looks at the program of an endpoint, and at all that its arguments name. What agents can write is refused.
func search(w *writers, endpoint mcp.Endpoint, own []domain.Mount) (all found, err error) {
	if err := all.executable(w, endpoint.Command); err != nil {
		return all, err
	}
	for _, argument := range endpoint.Args {
		if err := all.argument(w, argument, own); err != nil {
			return all, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(endpoint.Env)) {
		if !secrets.Steers(name) {
			continue
		}
		for _, path := range pathsIn(endpoint.Env[name]) {
			if why := w.why(path); why != "" {
				return all, refused("The variable "+name+" names", path, why)
			}
		}
	}
	return all, nil
}

// refused says why a program is not run that agents can write.
func refused(subject, path, why string) error {
	return domain.Errorf(domain.CodeAgentUnavailable, "%s %s, and %s. An agent could have its own code run with the secrets of the server. Keep programs where no agent writes.",
		subject, path, why)
}

// maxInterpreters is that of the kernel: execve(2).
const maxInterpreters = 5

// executable takes a program and, if it is a script, its interpreter.
func (f *found) executable(w *writers, path string) error {
	for range maxInterpreters {
		if why := w.why(path); why != "" {
			return refused("Its program is", path, why)
		}
		f.files = append(f.files, launch.Real(path))
		interpreter := interpreterOf(path)
		if interpreter == "" {
			return nil
		}
		if _, err := os.Stat(interpreter); err != nil {
			return domain.Errorf(domain.CodeAgentUnavailable, "The program %s is a script of %s, which is not there.", path, interpreter)
		}
		path = interpreter
	}
	return nil
}

// interpreterOf is the absolute path in the first line of a script.
func interpreterOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, 512)).ReadString('\n')
	rest, isScript := strings.CutPrefix(line, "#!")
	if err != nil && !errors.Is(err, io.EOF) || !isScript {
		return ""
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || !filepath.IsAbs(fields[0]) {
		return ""
	}
	return fields[0]
}

// dataHint says how a folder is given that holds no part of the program.
func dataHint(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return ""
	}
	return "; a folder that holds data alone stands under mounts of the server, for write"
}

// given reports whether the entry itself gives the program a path for write. A folder is data then, by the operator's word; a file that is there is none.
func given(path string, own []domain.Mount) bool {
	at := launch.Real(path)
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return false
	}
	return slices.ContainsFunc(own, func(mount domain.Mount) bool { return mount.Access == domain.AccessWrite && within(mount.Path, at) })
}

// pathOf is the absolute path that an argument is, as it is or behind a name: /srv/x, --config=/srv/x, file:///srv/x. before is what stands before it.
// An empty path: it is none.
func pathOf(argument string) (before, path string) {
	name, value, isNamed := strings.Cut(argument, "=")
	if rest, isAddress := strings.CutPrefix(argument, "file://"); isAddress && filepath.IsAbs(rest) {
		return "file://", filepath.Clean(rest)
	}
	switch {
	case filepath.IsAbs(argument):
		return "", filepath.Clean(argument)
	case isNamed && filepath.IsAbs(strings.TrimPrefix(value, "file://")):
		before, path = pathOf(value)
		return name + "=" + before, path
	default:
		return argument, ""
	}
}

// pathsIn are all texts in an argument or a value that could be absolute paths, such as those in a line for a shell.
func pathsIn(text string) (paths []string) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`=:,;()|&<>[]{}", r) }) {
		if filepath.IsAbs(part) {
			paths = append(paths, filepath.Clean(part))
		}
	}
	return paths
}

// argument looks at every absolute path in an argument, and takes the one that the argument is.
func (f *found) argument(w *writers, argument string, own []domain.Mount) error {
	_, whole := pathOf(argument)
	for _, path := range append(pathsIn(argument), whole) {
		if path == "" || given(path, own) {
			continue
		}
		if why := w.why(path); why != "" {
			return refused("Its argument "+strconv.Quote(argument)+" names", path, why+dataHint(path))
		}
	}
	if whole == "" {
		return nil
	}
	info, err := os.Stat(whole)
	if err != nil {
		return nil //nolint:nilerr // the program may make it
	}
	switch {
	case info.IsDir():
		f.folders = append(f.folders, launch.Real(whole))
	case info.Mode().IsRegular():
		f.files = append(f.files, launch.Real(whole))
	}
	return nil
}

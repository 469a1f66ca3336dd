package program

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"net/url"
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

// search looks at the program of an endpoint, and at all that its arguments and variables name. What agents can write is refused. start is the folder
// in which the program starts, and own are the mounts of its entry.
//
// Every variable counts: which of them make a program load code, only the program knows.
func search(w *writers, endpoint mcp.Endpoint, start string, own []domain.Mount) (all found, err error) {
	if err := all.executable(w, endpoint.Command); err != nil {
		return all, err
	}
	for _, argument := range endpoint.Args {
		isData := func(path string) bool { return given(path, own) && !isFile(path) } // a file that is there may be a script
		if err := w.refuseNamed("Its argument "+strconv.Quote(argument)+" names", argument, start, isData); err != nil {
			return all, err
		}
		all.argument(argument)
	}
	for _, name := range slices.Sorted(maps.Keys(endpoint.Env)) {
		isData := func(path string) bool { return given(path, own) && !secrets.Steers(name) } // such as the file of a database
		if err := w.refuseNamed("The variable "+name+" names", endpoint.Env[name], start, isData); err != nil {
			return all, err
		}
	}
	return all, nil
}

// refuseNamed refuses a text that names a path which agents can write, and which is not data.
func (w *writers) refuseNamed(subject, text, start string, isData func(path string) bool) error {
	for _, path := range pathsIn(text, start) {
		if isData(path) {
			continue
		}
		if why := w.whyNamed(path, start); why != "" {
			return refused(subject, path, why+"; where it is data, name it, or a folder above it, under mounts of the server, for write")
		}
	}
	return nil
}

// whyNamed is why for a path that a text names. Below the folder in which a program starts, an isolated one has files of its own, and those of this machine
// only where a workspace or a mount lies there.
func (w *writers) whyNamed(path, start string) string {
	if start != "/" && within(start, path) && !slices.ContainsFunc(w.roots, func(r root) bool { return within(r.path, path) }) {
		return ""
	}
	return w.why(path)
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

// given reports whether the entry itself gives the program a path for write: it is data then, by the operator's word.
func given(path string, own []domain.Mount) bool {
	at := launch.Real(path)
	return slices.ContainsFunc(own, func(mount domain.Mount) bool { return mount.Access == domain.AccessWrite && within(mount.Path, at) })
}

func isFile(path string) bool {
	info, err := os.Stat(launch.Real(path))
	return err == nil && !info.IsDir()
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

// pathsIn are all paths that an argument or a value could name: as a whole, or in a part of it, such as a line for a shell; from / or from the folder in
// which the program starts; and behind the letters of an option or the host of an address, as in -I/srv/lib and file://localhost/srv/x.
func pathsIn(text, start string) (paths []string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`=:,;()|&<>[]{}", r) })
	if _, whole := pathOf(text); whole != "" { // it may have a blank
		parts = append(parts, whole)
	}
	for _, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil && plain != part { // of an address
			paths = append(paths, pathsFrom(plain, start)...)
		}
		paths = append(paths, pathsFrom(part, start)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// pathsFrom are the paths that one word could name.
func pathsFrom(word, start string) (paths []string) {
	if !filepath.IsAbs(word) {
		paths = append(paths, filepath.Join(start, word))
	}
	for i, r := range word {
		if r == '/' {
			paths = append(paths, filepath.Clean(word[i:]))
		}
	}
	return paths
}

// argument takes the path that an argument is.
func (f *found) argument(argument string) {
	_, whole := pathOf(argument)
	info, err := os.Stat(whole)
	if whole == "" || err != nil { // the program may make it
		return
	}
	switch {
	case info.IsDir():
		f.folders = append(f.folders, launch.Real(whole))
	case info.Mode().IsRegular():
		f.files = append(f.files, launch.Real(whole))
	}
}

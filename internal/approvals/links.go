package approvals

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// How a call is seen through the links of the workspace. A call and a dry run of it are judged by this same code.

// withTargets adds the targets of links to paths, which are relative to a folder. A rule about a folder is about what lies in
// it, by whatever name: to be allowed, name and target must be covered, and a rule that denies one of them denies the call.
func withTargets(folder string, paths []string) []string {
	all := paths
	for _, path := range paths {
		if !filepath.IsAbs(path) && folder != "" {
			path = filepath.Join(folder, path)
		}
		if real := target(path); real != path && !slices.Contains(all, real) {
			all = append(all[:len(all):len(all)], real)
		}
	}
	return all
}

// Limits of links, as in the kernel.
const (
	maxLinks  = 40
	maxLength = 4096 // bytes of a path
)

// target follows the links of an absolute path, also of one that does not exist yet: to write to a link that leads nowhere
// makes the file that it names.
func target(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	real, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		next := filepath.Join(real, rest[0]) // knows . and ..
		rest = rest[1:]
		to, err := os.Readlink(next)
		switch {
		case os.IsNotExist(err), len(next) > maxLength: // nothing below it is a link
			return filepath.Join(next, filepath.Join(rest...))
		case err != nil: // a file or a folder
			real = next
		default:
			links++
			rest = append(strings.Split(to, "/"), rest...)
			if filepath.IsAbs(to) {
				real = "/"
			}
		}
	}
	if len(rest) > 0 {
		return path // a loop
	}
	return real
}

package sessions

import (
	"path/filepath"
	"slices"
)

// withTargets adds to paths where their links lead. A rule about a folder is about what lies in it, by whatever name: to
// be allowed, name and target must be covered, and a rule that denies one of them denies the call.
func withTargets(paths []string) []string {
	all := paths
	for _, path := range paths {
		if real := target(path); !slices.Contains(all, real) {
			all = append(all[:len(all):len(all)], real)
		}
	}
	return all
}

// target follows the links of the part of a path that is there.
func target(path string) string {
	for missing, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(missing); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(missing)
		if parent == missing {
			return path
		}
		missing, rest = parent, filepath.Join(filepath.Base(missing), rest)
	}
}

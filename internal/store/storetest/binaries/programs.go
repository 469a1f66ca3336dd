package binaries

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

var programs = []string{"initdb", "pg_ctl", "postgres"}

// installed looks for the programs in the usual places.
func installed() string {
	for _, dir := range usualPlaces() {
		if complete(dir) {
			return dir
		}
	}
	return ""
}

func usualPlaces() []string {
	var list []string
	// A pg_config may come with the client library alone, so what it says is a hint like any other.
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		list = append(list, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",          // Debian
		"/usr/lib/postgresql*/bin",           // openSUSE, Gentoo
		"/usr/libexec/postgresql*",           // Alpine
		"/usr/pgsql-*/bin",                   // the PostgreSQL project's RPMs
		"/usr/local/pgsql/bin",               // from source
		"/opt/homebrew/opt/postgresql@*/bin", // Homebrew
		"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		newestFirst(found)
		list = append(list, found...)
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		list = append(list, filepath.Dir(initdb))
	}
	return list
}

// newestFirst sorts paths by the last number in them: 17 before 9.6 before 9.
func newestFirst(paths []string) {
	version := func(path string) float64 {
		fields := strings.FieldsFunc(path, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if len(fields) == 0 {
			return 0
		}
		v, _ := strconv.ParseFloat(fields[len(fields)-1], 64)
		return v
	}
	sort.SliceStable(paths, func(i, j int) bool { return version(paths[i]) > version(paths[j]) })
}

func complete(dir string) bool {
	for _, program := range programs {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// lock waits until no other process holds the folder. A lock on a folder leaves no file behind.
func lock(folder string) (unlock func(), err error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return func() { _ = f.Close() }, err
		}
	}
}

func tail(b []byte, limit int) []byte {
	if len(b) > limit {
		b = b[len(b)-limit:]
	}
	return bytes.TrimSpace(b)
}

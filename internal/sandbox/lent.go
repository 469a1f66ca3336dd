package sandbox

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"syscall"

	"signoff/internal/domain"
)

// A lent file is a credential of the operator's: the command finds a copy of it, and the copy's path in a variable. It is read by the
// server, who may read it, when the command starts: it may rotate. [Config.Lend] learns the very bytes that the command gets. They travel to the stages
// as an open file, in no argument and no environment.

const (
	maxLent = 1 << 20 // bytes of a lent file
)

// copied is a file that the command finds a copy of.
type copied struct {
	Target   string
	Variable string `json:",omitempty"` // names the copy to the command
}

// variables tell the command where its lent files are.
func (v view) variables() []string {
	var all []string
	for _, one := range v.Copied {
		if one.Variable != "" {
			all = append(all, one.Variable+"="+one.Target)
		}
	}
	return all
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		file.Close()
	}
}

// lend reads the files that an environment lends, by their variables. When it returns, their values are masked.
func (s *Sandbox) lend(e domain.Environment) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, variable := range slices.Sorted(maps.Keys(e.Files)) {
		content, err := readLent(e.Files[variable])
		if err == nil && s.config.Lend != nil {
			err = s.config.Lend(e.Files[variable], content)
		}
		if err != nil {
			return nil, domain.Errorf(domain.CodeEnvironmentUnavailable, "The file of %s cannot be lent: %s", variable, reason(err)).With(err)
		}
		contents[variable] = content
	}
	return contents, nil
}

func readLent(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxLent+1))
	if err == nil && len(content) > maxLent {
		err = fmt.Errorf("%s has more than %d bytes", path, maxLent)
	}
	return content, err
}

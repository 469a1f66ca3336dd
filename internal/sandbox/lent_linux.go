package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

func lentPath(variable string) string { return filepath.Join(lentFolder, variable) }

// openFiles opens what the stages need of a view: its user namespaces, the contents of lent files by their variables, and the names of its relays. The
// caller closes them.
func (v *view) openFiles(lent map[string][]byte, relays []relayPlace) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeFiles(files)
		}
	}()
	for _, belongs := range v.Owners {
		namespace, err := userNamespace(belongs, *v.User)
		if err != nil {
			return files, err
		}
		files = append(files, namespace)
	}
	for _, variable := range slices.Sorted(maps.Keys(lent)) {
		file, err := inMemory(lent[variable])
		if err != nil {
			return files, err
		}
		files = append(files, file)
		v.Copied = append(v.Copied, copied{Target: lentPath(variable), Variable: variable})
	}
	if len(relays) > 0 {
		file, err := inMemory(hostsFile(relays))
		if err != nil {
			return files, err
		}
		files = append(files, file)
		v.Copied = append(v.Copied, copied{Target: "/etc/hosts"})
	}
	return files, nil
}

// inMemory returns an open file with some content, which is on no disk.
func inMemory(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("content", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "content")
	if _, err := file.WriteAt(content, 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// files is how many open files come with the view.
func (v view) files() int { return len(v.Owners) + len(v.Copied) }

// ownerFD is the user namespace of an owner in the stages below, and copiedFD a file to copy.
func (p plan) ownerFD(owner int) int { return p.firstFile() + owner - 1 }

func (p plan) copiedFD(i int) int { return p.firstFile() + len(p.View.Owners) + i }

// belong gives the command's user the end of a pipe: programs open /dev/stdout by its name.
func (v view) belong(pipe *os.File) error {
	if v.User == nil || pipe == nil {
		return nil
	}
	return pipe.Chown(v.User.UID, v.User.GID)
}

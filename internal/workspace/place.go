package workspace

import (
	"os"
	"path/filepath"

	"signoff/internal/domain"
)

// Place opens the folder of a path below directory for a caller that changes a file there, and returns the name of the path in it. The folder exists
// already, and neither the path nor the place to which it leads is hidden or guarded. The caller closes the folder.
func (w *Workspace) Place(directory, path string) (folder *os.Root, name string, err error) {
	relative, err := local(directory, path)
	if err != nil {
		return nil, "", err
	}
	root, err := openRoot(directory)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	set := &changeSet{workspace: w, directory: directory, root: root}
	defer set.close()
	relative = filepath.Clean(relative)
	judged, _, err := set.folder(relative, domain.FileChange{Path: path, Delete: true})
	if err != nil {
		return nil, "", err
	}
	folder, err = judged.OpenRoot(".")
	return folder, filepath.Base(relative), err
}

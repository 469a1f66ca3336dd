package items

import "signoff/internal/diff"

// fileDiff is the change of one file, as a unified diff.
type fileDiff struct {
	path                 string
	text                 string
	additions, deletions int
}

// newFileDiff compares two texts. before is nil for a new or unknown file.
func newFileDiff(path string, before *string, after string) fileDiff {
	path, _ = bounded(path, pathBytes)
	from, old := diff.DevNull, ""
	if before != nil {
		from, old = path, *before
	}
	compared := diff.Excerpts(old, after)
	return fileDiff{path: path, text: compared.Unified(from, path), additions: compared.Additions, deletions: compared.Deletions}
}

// pathBytes bounds a path.
const pathBytes = 4096

package store

// FileSystem is the file system of a SQLite file.
type FileSystem struct {
	Name  string // where it matters to a database; else empty
	Local bool   // locks and flushes are what they seem
	Kept  bool   // it outlives a restart of the machine
	Free  uint64 // bytes
}

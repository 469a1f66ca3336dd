package writers

// MaxPaths bounds the paths of a sighting.
const MaxPaths = 100

// Sighting lists the paths to which a watch saw somebody write.
type Sighting struct {
	Paths []string // relative to the folder, in order
	More  bool     // there are other paths, beyond MaxPaths
	Lost  bool     // the kernel dropped events: somebody may have written to any path
}

// None reports whether the watch saw everything, and nobody wrote.
func (s Sighting) None() bool { return len(s.Paths) == 0 && !s.Lost }

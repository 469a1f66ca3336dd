package sandbox

import (
	"slices"

	"signoff/internal/domain"
)

// Inspection is what an environment comes to on this machine, for people.
type Inspection struct {
	User       string   // that commands run as; empty: the server's own
	Mapped     []string // folders whose owner appears as that user
	Hidden     []string // files and folders that are covered, sorted
	Unsearched []string // folders that are too large to be looked through for private keys and credentials
}

// Inspect returns what a command in dir would find hidden, and whom it would run as. Its error is that of [Sandbox.Offers].
func (s *Sandbox) Inspect(e domain.Environment, dir string) (Inspection, error) {
	var made Inspection
	if err := s.Offers(e, dir); err != nil {
		return made, err
	}
	if e.View == domain.ViewHost {
		return Inspection{User: e.User}, nil
	}
	var all guards
	v, err := s.viewOf(dir, e, &all)
	if err != nil {
		return made, err
	}
	for _, path := range slices.Concat(s.config.Hidden, e.Hidden) {
		if err := protect(dir, path, hidden, all.add); err != nil {
			return made, err
		}
	}
	owner, err := v.settle(dir, e)
	if err != nil {
		return made, err
	}
	if v.User != nil {
		made.User = v.User.Name
	}
	for _, one := range append(v.Shown, shown{Path: dir, Owner: owner}) {
		if one.Owner > 0 {
			made.Mapped = append(made.Mapped, one.Path)
		}
	}
	for _, g := range all.needed() {
		if g.As == hidden {
			made.Hidden = append(made.Hidden, (plan{Dir: dir}).pathOf(g))
		}
	}
	slices.Sort(made.Hidden)
	made.Unsearched = s.Unsearched(e)
	return made, nil
}

package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Plan is what a rollback to an earlier checkpoint does, path by path. It follows from the checkpoints alone, so two readers come to the same.
type Plan struct {
	From, To string // checkpoints: the last one, and the earlier one to which the rollback leads
	Steps    []Step // in the order in which they are done
	Kept     []Kept // paths that differ and stay as they are, sorted
}

// Kept is a path that a rollback leaves alone.
type Kept struct {
	Path string
	Why  KeptReason
}

// KeptReason is why a rollback leaves a path alone.
type KeptReason string

// KeptReasons.
const (
	ChangedByOthers  KeptReason = "changedByOthers"  // somebody else has changed it since
	UncertainChange  KeptReason = "uncertain"        // perhaps somebody else has; it goes back if the request names it
	NotCoveredBefore KeptReason = "notCoveredBefore" // the earlier checkpoint does not have it
	NotCoveredNow    KeptReason = "notCoveredNow"    // the last checkpoint does not have it
	ContentConflict  KeptReason = "conflict"         // it is no longer as the last checkpoint saw it, something else is there, or a folder holds something

	// What only a look at the disk shows.
	NoConflict    KeptReason = ""
	InUse         KeptReason = "inUse"         // somebody has the file open for writing
	SecondName    KeptReason = "secondName"    // the file has a second name, a hard link, which may lie anywhere
	NotReachable  KeptReason = "notReachable"  // the folder is gone, hidden or guarded
	NotPermitted  KeptReason = "notPermitted"  // the server may not write it, or the file system cannot do what is needed
	OwnerNotKept  KeptReason = "ownerNotKept"  // the file belonged to somebody else, and only root can give it back
	StagedRemains KeptReason = "stagedRemains" // a file that somebody wrote in that moment lies beside the path, under a name with .signoff-
)

// Hash identifies the steps of the plan, so that a rollback does what its preview has shown, or nothing. Plans from two checkpoints that hold the same have the
// same hash.
func (p Plan) Hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", p.To)
	for _, one := range p.Steps {
		fmt.Fprintf(sum, "%q %+v %+v\x00", one.Path, one.Before, one.After)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Plan plans a rollback from one checkpoint of a series to an earlier one. It restores only the named paths, files and folders with all that they hold; without
// a name, all. It restores a path that only the execution has changed. It restores a path with an uncertain change only if the path itself is named.
//
// descendants are the parts of the series of the executions to which this one has handed work. The plan also restores the paths that only they have changed.
func (r *Repository) Plan(ctx context.Context, from, to string, named []string, descendants ...Span) (Plan, error) {
	if from == to && len(named) == 0 {
		return Plan{From: from, To: to}, nil
	}
	changed, err := r.attributionOfTree(ctx, to, from, descendants)
	if err != nil {
		return Plan{}, err
	}
	now, err := r.listing(ctx, from)
	if err != nil {
		return Plan{}, err
	}
	then, err := r.listing(ctx, to)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{From: from, To: to}
	concerns := func(path string) bool {
		return len(named) == 0 || slices.ContainsFunc(named, func(one string) bool { return path == one || strings.HasPrefix(path, one+"/") })
	}
	for _, path := range now.differing(then) {
		if !concerns(path) {
			continue
		}
		step := Step{Path: path, Before: now.entries[path], After: then.entries[path]}
		switch why := keeps(step, changed[path], now, then, slices.Contains(named, path)); why {
		case "":
			p.add(step)
		default:
			p.Kept = append(p.Kept, Kept{path, why})
		}
	}
	p.keepNotCovered(now, then, concerns)
	p.keepUnknown(now, then, named)
	p.addFolders(now, then)
	p.keepBelowFiles(now)
	p.keepFolders()
	p.Kept = sortedKept(p.Kept)
	p.order()
	return p, nil
}

// keepNotCovered lists the paths that a checkpoint does not cover: those that are gone or have another size now, since nobody can bring them back, and those that have come
// since, since nobody knows their content.
func (p *Plan) keepNotCovered(now, then *listing, concerns func(path string) bool) {
	kept, known, same := map[string]bool{}, map[string]bool{}, map[NotCovered]bool{}
	for _, one := range p.Kept {
		kept[one.Path] = true
	}
	for _, one := range now.notCovered {
		same[one] = true
	}
	for _, one := range then.notCovered {
		known[one.Path] = true
		if !kept[one.Path] && concerns(one.Path) && !same[one] {
			p.Kept = append(p.Kept, Kept{one.Path, NotCoveredBefore})
		}
	}
	for _, one := range now.notCovered {
		if !kept[one.Path] && concerns(one.Path) && !known[one.Path] {
			p.Kept = append(p.Kept, Kept{one.Path, NotCoveredNow})
		}
	}
}

// keepUnknown lists the paths that a request names and neither checkpoint knows, so that a name with a typing error does not look like a path without a change.
func (p *Plan) keepUnknown(now, then *listing, named []string) {
	for _, one := range named {
		if one != "." && !now.knows(one) && !then.knows(one) {
			p.Kept = append(p.Kept, Kept{one, NotCoveredBefore})
		}
	}
}

// knows reports whether a checkpoint holds a path, or does not cover it.
func (l *listing) knows(path string) bool {
	_, holds := l.entries[path]
	return holds || l.lacks(path)
}

// keepBelowFiles keeps what was in a folder in whose place a file is now that stays.
func (p *Plan) keepBelowFiles(now *listing) {
	stays := map[string]bool{}
	for _, one := range p.Kept {
		if entry, is := now.entries[one.Path]; is && !entry.Mode.IsDir() {
			stays[one.Path] = true
		}
	}
	p.keepBelow(stays)
}

// keepBelow keeps the steps at paths that stay, and below them.
func (p *Plan) keepBelow(stays map[string]bool) {
	p.Steps = slices.DeleteFunc(p.Steps, func(step Step) bool {
		above := path.Dir(step.Path)
		for above != "." && !stays[above] {
			above = path.Dir(above)
		}
		if above != "." { // a file that stays is in the way of the folder that was there before
			p.Kept = append(p.Kept, Kept{step.Path, NotReachable})
		}
		return above != "." || stays[step.Path]
	})
}

// addFolders adds the folders that are gone and in which something goes back, where the request names only what they hold.
func (p *Plan) addFolders(now, then *listing) {
	planned := map[string]bool{}
	for _, step := range p.Steps {
		planned[step.Path] = true
	}
	for _, step := range slices.Clone(p.Steps) {
		if step.After == (Entry{}) {
			continue
		}
		for folder := path.Dir(step.Path); folder != "." && !planned[folder] && now.entries[folder] == (Entry{}); folder = path.Dir(folder) {
			planned[folder] = true
			p.add(Step{Path: folder, After: then.entries[folder]})
		}
	}
}

// add adds a step. It takes two to put a file in the place of a folder, or a folder in the place of a file.
func (p *Plan) add(step Step) {
	if step.Before != (Entry{}) && step.After != (Entry{}) && step.Before.Mode.IsDir() != step.After.Mode.IsDir() {
		p.Steps = append(p.Steps, Step{Path: step.Path, Before: step.Before}, Step{Path: step.Path, After: step.After})
		return
	}
	p.Steps = append(p.Steps, step)
}

func keeps(step Step, by By, now, then *listing, named bool) KeptReason {
	switch {
	case then.lacks(step.Path):
		return NotCoveredBefore
	case now.lacks(step.Path):
		return NotCoveredNow
	case by == Others, by == "":
		return ChangedByOthers
	case by == Uncertain && !named:
		return UncertainChange
	default:
		return ""
	}
}

// lacks reports whether the checkpoint does not cover a path, or a folder above it.
func (l *listing) lacks(path string) bool {
	return slices.ContainsFunc(l.notCovered, func(one NotCovered) bool { return path == one.Path || strings.HasPrefix(path, one.Path+"/") })
}

// keepFolders keeps each folder that still holds something that is kept. The file that was in the place of such a folder stays away.
func (p *Plan) keepFolders() {
	holding := map[string]bool{}
	for _, one := range p.Kept {
		for above := path.Dir(one.Path); above != "." && !holding[above]; above = path.Dir(above) {
			holding[above] = true
		}
	}
	stays := map[string]bool{}
	p.Steps = slices.DeleteFunc(p.Steps, func(step Step) bool {
		isKept := step.Before.Mode.IsDir() && step.After == Entry{} && holding[step.Path]
		stays[step.Path] = stays[step.Path] || isKept
		return isKept
	})
	p.Steps = slices.DeleteFunc(p.Steps, func(step Step) bool {
		inTheWay := stays[step.Path] && step.Before == Entry{}
		if inTheWay {
			p.Kept = append(p.Kept, Kept{step.Path, ContentConflict})
		}
		return inTheWay
	})
}

// order has files go before the folder that held them, and folders come before the files that they will hold.
func (p *Plan) order() {
	rank := func(step Step) int {
		switch {
		case step.After == Entry{} && !step.Before.Mode.IsDir():
			return 0
		case step.After == Entry{}:
			return 1
		case step.After.Mode.IsDir() && step.Before == Entry{}:
			return 2
		case step.After.Mode.IsDir():
			return 4 // a folder that is closed must not lock out what goes into it
		default:
			return 3
		}
	}
	slices.SortFunc(p.Steps, func(a, b Step) int {
		ranked := cmp.Compare(rank(a), rank(b))
		if rank(a) == 1 {
			return cmp.Or(ranked, strings.Compare(b.Path, a.Path)) // inner folders first
		}
		return cmp.Or(ranked, strings.Compare(a.Path, b.Path))
	})
}

// Restore does the steps of a plan. It stops at the first error; what was done until then stays, and a plan that is made after a new checkpoint leads on from
// there. It returns the steps that it has done, and the paths that are kept: those of the plan, and those at which a conflict has come up. Also with an error,
// both are whole: a step that is in neither has not been tried. token names the rollback: by it [Repository.Recover] finds what a killed one has left.
func (r *Repository) Restore(ctx context.Context, p Plan, token string, places Places) (done []Step, kept []Kept, err error) {
	kept = slices.Clone(p.Kept)
	do := func(step Step, content io.Reader) error {
		isDone, conflict, err := apply(ctx, places, step, token, content)
		if isDone {
			done = append(done, step)
		}
		if conflict != NoConflict {
			kept = append(kept, Kept{step.Path, conflict})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.Path, err)
		}
		return nil
	}
	for _, group := range p.groups() {
		if err = r.restoreGroup(ctx, group, do); err != nil {
			break
		}
	}
	return done, sortedKept(kept), err
}

// sortedKept has each path once: a folder and a file change places in two steps, and both may find a conflict.
func sortedKept(kept []Kept) []Kept {
	slices.SortStableFunc(kept, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(kept, func(a, b Kept) bool { return a.Path == b.Path })
}

// groups splits the steps where the next ones need contents and the ones before do not, or the reverse.
func (p Plan) groups() [][]Step {
	var all [][]Step
	for i, step := range p.Steps {
		if i == 0 || step.needsContent() != p.Steps[i-1].needsContent() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], step)
	}
	return all
}

func (s Step) needsContent() bool { return s.After.Object != "" && s.After.Object != s.Before.Object }

func (r *Repository) restoreGroup(ctx context.Context, steps []Step, do func(Step, io.Reader) error) error {
	if !steps[0].needsContent() {
		for _, step := range steps {
			if err := do(step, nil); err != nil {
				return err
			}
		}
		return nil
	}
	objects := make([]string, 0, len(steps))
	for _, step := range steps {
		objects = append(objects, step.After.Object)
	}
	return r.Contents(ctx, objects, func(_ string, _ int64, content io.Reader) error {
		step := steps[0]
		steps = steps[1:]
		return do(step, content)
	})
}

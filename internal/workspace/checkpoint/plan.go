package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
	ContentConflict  KeptReason = "conflict"         // it is no longer as the last checkpoint saw it
)

// Hash names the plan: a rollback does what its preview has shown, or nothing.
func (p Plan) Hash() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s\x00", p.From, p.To)
	for _, one := range p.Steps {
		fmt.Fprintf(sum, "%q %+v %+v\x00", one.Path, one.Before, one.After)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ErrNotInSeries: the checkpoint is none of the series, or none before its last.
var ErrNotInSeries = errors.New("checkpoint: this is no earlier checkpoint of the series")

// Plan plans the way back from one checkpoint of a series to an earlier one. named are the paths to which the rollback is confined, files and folders with all
// that they hold; empty: all. A path that the execution alone has changed goes back; one that perhaps others have changed, only if it is named itself.
func (r *Repository) Plan(ctx context.Context, from, to string, named []string) (Plan, error) {
	chain, err := r.between(ctx, from, to)
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
	changed := map[string]By{}
	for _, id := range chain { // from the latest to the earliest
		l := now
		if id != from {
			if l, err = r.listing(ctx, id); err != nil {
				return Plan{}, err
			}
		}
		for path, by := range l.by {
			changed[path] = worse(changed[path], by)
		}
	}
	p := Plan{From: from, To: to}
	for _, path := range now.differing(then) {
		if len(named) > 0 && !slices.ContainsFunc(named, func(one string) bool { return path == one || strings.HasPrefix(path, one+"/") }) {
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
	p.keepFolders()
	p.order()
	return p, nil
}

// add adds a step. A folder and a file change places in two.
func (p *Plan) add(step Step) {
	if step.Before != (Entry{}) && step.After != (Entry{}) && step.Before.Mode.IsDir() != step.After.Mode.IsDir() {
		p.Steps = append(p.Steps, Step{Path: step.Path, Before: step.Before}, Step{Path: step.Path, After: step.After})
		return
	}
	p.Steps = append(p.Steps, step)
}

// worse joins two changes of one path: the writer about whom less can be proved counts.
func worse(a, b By) By {
	rank := map[By]int{"": 0, Ours: 1, Uncertain: 2, Others: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
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

// keepFolders keeps each folder that still holds something that is kept.
func (p *Plan) keepFolders() {
	p.Steps = slices.DeleteFunc(p.Steps, func(step Step) bool {
		return step.Before.Mode.IsDir() && step.After == Entry{} &&
			slices.ContainsFunc(p.Kept, func(one Kept) bool { return strings.HasPrefix(one.Path, step.Path+"/") })
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

// between lists the checkpoints of a series after one, up to another, the latest first.
func (r *Repository) between(ctx context.Context, from, to string) ([]string, error) {
	if !isObject(from) || !isObject(to) {
		return nil, ErrNotInSeries
	}
	if from == to {
		return nil, nil
	}
	out, err := r.run(ctx, nil, "", "git", "rev-list", "--first-parent", from)
	if err != nil {
		return nil, err
	}
	all := strings.Fields(string(out))
	i := slices.Index(all, to)
	if i < 0 {
		return nil, ErrNotInSeries
	}
	return all[:i], nil
}

// Restore does the steps of a plan. It stops at the first error; what was done until then stays, and a plan that is made after a new checkpoint leads on from
// there. It returns the paths that are kept: those of the plan, and those at which a conflict has come up.
func (r *Repository) Restore(ctx context.Context, p Plan, places Places) ([]Kept, error) {
	kept := slices.Clone(p.Kept)
	do := func(step Step, content io.Reader) error {
		conflict, err := apply(ctx, places, step, content)
		if err != nil {
			return fmt.Errorf("%s: %w", step.Path, err)
		}
		if conflict != NoConflict {
			kept = append(kept, Kept{step.Path, ContentConflict})
		}
		return nil
	}
	for _, group := range p.groups() {
		if err := r.restoreGroup(ctx, group, do); err != nil {
			return kept, err
		}
	}
	slices.SortFunc(kept, func(a, b Kept) int { return strings.Compare(a.Path, b.Path) })
	return kept, nil
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

package checkpoint

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
)

// By says who changed a path.
type By string

// Writers of a path.
const (
	Ours      By = "ours"      // a call of the execution, and the server saw nobody else write
	Uncertain By = "uncertain" // perhaps a call of the execution, perhaps somebody who wrote at the same time
	Others    By = "others"    // somebody else: no call of the execution ran
)

// worse joins two changes of one path, and returns the one for which a rollback does less: others before uncertain before ours.
func worse(a, b By) By {
	rank := map[By]int{"": 0, Ours: 1, Uncertain: 2, Others: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// ErrNotInSeries: the checkpoint is not an earlier one of the series.
var ErrNotInSeries = errors.New("checkpoint: this is no earlier checkpoint of the series")

// Span is a part of a series: the checkpoints after one, up to another.
type Span struct{ After, UpTo string }

// attribution says who changed each path from one checkpoint of a series to a later one.
func (r *Repository) attribution(ctx context.Context, earlier, later string) (map[string]By, error) {
	all, err := r.changesIn(ctx, Span{earlier, later})
	changed := map[string]By{}
	for _, one := range all {
		changed[one.path] = worse(changed[one.path], one.by)
	}
	return changed, err
}

// attributionOfTree is attribution for an execution that has handed work to descendants. A change that one series attributes to others is a change of the tree
// if another series of the tree has exactly the same content as its own change.
func (r *Repository) attributionOfTree(ctx context.Context, earlier, later string, descendants []Span) (map[string]By, error) {
	own, err := r.changesIn(ctx, Span{earlier, later})
	if err != nil {
		return nil, err
	}
	var others, ofTree []attributedChange
	for _, one := range own {
		if one.by != Ours {
			others = append(others, one)
		}
	}
	for _, span := range descendants {
		all, err := r.changesIn(ctx, span)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			if one.by == Ours {
				ofTree = append(ofTree, one)
			} else {
				others = append(others, one)
			}
		}
	}
	if len(descendants) > 0 {
		for _, one := range own {
			if one.by == Ours {
				ofTree = append(ofTree, one)
			}
		}
	}
	known, err := r.entriesAt(ctx, ofTree, others)
	if err != nil {
		return nil, err
	}
	seen, err := r.entriesAt(ctx, others, ofTree)
	if err != nil {
		return nil, err
	}
	written := map[string]map[Entry]bool{} // by path
	for one, entry := range known {
		if written[one.path] == nil {
			written[one.path] = map[Entry]bool{}
		}
		written[one.path][entry] = true
	}
	changed := map[string]By{}
	for _, one := range others {
		by := one.by
		if entry, looked := seen[one]; looked && written[one.path][entry] {
			by = Ours
		}
		changed[one.path] = worse(changed[one.path], by)
	}
	for _, one := range own {
		if one.by == Ours {
			changed[one.path] = worse(changed[one.path], Ours)
		}
	}
	return changed, nil
}

// attributedChange is a change of one path, as the manifest of a checkpoint lists it.
type attributedChange struct {
	checkpoint, path string
	by               By
}

// changesIn reads the attributed changes of a part of a series.
func (r *Repository) changesIn(ctx context.Context, span Span) ([]attributedChange, error) {
	chain, err := r.between(ctx, span.After, span.UpTo)
	if err != nil {
		return nil, err
	}
	manifests := make([]string, 0, len(chain))
	for _, id := range chain {
		manifests = append(manifests, id+":"+manifestFile)
	}
	var all []attributedChange
	next := 0
	return all, r.batch(ctx, manifests, func(_ string, _ int64, content io.Reader) error {
		id := chain[next]
		next++
		manifest, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return readAttribution(manifest, func(path string, by By) { all = append(all, attributedChange{id, path, by}) })
	})
}

// entriesAt returns the entry at the path of each change after it, for the paths that both lists have.
func (r *Repository) entriesAt(ctx context.Context, changes, others []attributedChange) (map[attributedChange]Entry, error) {
	both := map[string]bool{}
	for _, one := range others {
		both[one.path] = true
	}
	listings, all := map[string]*listing{}, map[attributedChange]Entry{}
	for _, one := range changes {
		if !both[one.path] {
			continue
		}
		if listings[one.checkpoint] == nil {
			l, err := r.listing(ctx, one.checkpoint)
			if err != nil {
				return nil, err
			}
			listings[one.checkpoint] = l
		}
		all[one] = listings[one.checkpoint].entries[one.path]
	}
	return all, nil
}

// between lists the checkpoints of a series after one, up to another.
func (r *Repository) between(ctx context.Context, earlier, later string) ([]string, error) {
	if !isObject(earlier) || !isObject(later) {
		return nil, ErrNotInSeries
	}
	out, err := r.run(ctx, nil, "", "git", "rev-list", "--first-parent", later)
	if err != nil {
		return nil, err
	}
	all := strings.Fields(string(out))
	i := slices.Index(all, earlier)
	if i < 0 {
		return nil, ErrNotInSeries
	}
	return all[:i], nil
}

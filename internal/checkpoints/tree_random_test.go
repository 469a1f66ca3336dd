package checkpoints

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// TestARollbackOfATree: a root and two children work in one folder, one after the other, and a person writes between their calls. With tree, the rollback of the
// root takes back the changes of the three, and no path that the person has changed. Without tree, it takes back only the changes of the root.
func TestARollbackOfATree(t *testing.T) {
	checks(t, "15")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		ctx := t.Context()
		for range rapid.IntRange(0, 3).Draw(rt, "before") {
			f.change("before")
		}
		all := []*agent{f.agent("root"), f.agent("one"), f.agent("two")}
		for _, a := range all {
			defer a.Close()
			a.must(a.BeginTurn(ctx))
			a.settle()
		}
		root := all[0]
		start := f.moment(1)
		byChild := map[string]bool{}
		for range rapid.IntRange(3, 8).Draw(rt, "steps") {
			if rapid.IntRange(0, 3).Draw(rt, "a person") == 0 {
				if path := f.change("person"); path != "" {
					start.foreign[path] = true
					start.either[path] = start.either[path] || f.disk()[path] == start.held[path]
				}
				continue
			}
			a := rapid.SampledFrom(all).Draw(rt, "agent")
			a.must(a.BeforeCall(ctx, "c"))
			path := f.change(a.name)
			a.must(a.AfterCall(ctx, "c"))
			a.settle()
			f.later()
			if path != "" {
				start.own[path] = true
				byChild[path] = byChild[path] || a != root
			}
		}
		back := Rollback{To: HistoryOf(root.log)[0]}
		whole := rapid.Bool().Draw(rt, "tree")
		if whole {
			tree, err := Descendants([]domain.ExecutionID{"one", "two"}, func(id domain.ExecutionID) (History, error) {
				for _, a := range all {
					if a.name == string(id) {
						return HistoryOf(a.log), nil
					}
				}
				return nil, nil
			})
			root.must(err)
			back.Tree = tree
		}
		before := f.disk()
		plan, err := root.Preview(ctx, back)
		root.must(err)
		result, err := root.Rollback(ctx, back, plan.Hash, nil, func(context.Context, Journal) error { return nil })
		root.must(err)
		after := f.disk()
		for _, name := range []string{"a", "b", "c", "d"} {
			stays := start.foreign[name] || !whole && byChild[name]
			switch {
			case start.either[name], !whole && byChild[name] && before[name] == start.held[name]:
			case stays && after[name] != before[name]:
				rt.Fatalf("%s was %q, which others have written, and is %q: %+v", name, before[name], after[name], result)
			case !stays && after[name] != start.held[name]:
				rt.Fatalf("%s is %q, and only the tree has touched it since it was %q: %+v", name, after[name], start.held[name], result)
			}
		}
	})
}

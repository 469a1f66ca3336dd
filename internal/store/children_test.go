package store_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// However many executions there are, roots and trees are found in indexes, and in their order.
func TestTreesAreFoundInIndexes(t *testing.T) {
	config := store.Config{Path: filepath.Join(t.TempDir(), "signoff.db")}
	s := storetest.Open(t, config)
	create(t, s, "x")
	for name, read := range map[string]struct {
		look   func() error
		sorted bool // by the index
	}{
		"roots":    {func() error { return listed(t, s, store.ExecutionFilter{}) }, true},
		"children": {func() error { return listed(t, s, store.ExecutionFilter{Parent: "x"}) }, true},
		"a tree":   {func() error { return listed(t, s, store.ExecutionFilter{Root: "x"}) }, false},
		"a whole tree": {func() error {
			_, err := s.Tree(t.Context(), domain.DefaultTenant, "x")
			return err
		}, false},
		"what a driver reads": {func() error {
			_, err := s.Children(t.Context(), "x")
			return err
		}, false},
		"the size of a tree": {func() error {
			_, err := s.TreeSize(t.Context(), "x")
			return err
		}, false},
	} {
		bad := `(?m)^SCAN `
		if read.sorted {
			bad += `|TEMP B-TREE`
		}
		for query, plan := range plans(t, s, config, read.look) {
			if regexp.MustCompile(bad).MatchString(plan) {
				t.Errorf("%s: %s\nis planned as\n%s", name, query, plan)
			}
		}
	}
}

func listed(t *testing.T, s *store.Store, filter store.ExecutionFilter) error {
	t.Helper()
	_, err := s.Executions(t.Context(), domain.DefaultTenant, filter)
	return err
}

package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// Each start of an execution looks for the others in its folder, so however many executions have ended, it reads none of them.
func TestNeighboursAreFoundInAnIndexOfLiveExecutions(t *testing.T) {
	config := store.Config{Path: filepath.Join(t.TempDir(), "signoff.db")}
	s := storetest.Open(t, config)
	of := domain.Execution{ID: "x", Tenant: domain.DefaultTenant}
	of.Request.WorkingDirectory = "/w/app"
	for name, look := range map[string]func() error{
		"neighbours":            func() error { _, err := s.Neighbours(t.Context(), of, 20); return err },
		"who works in a folder": func() error { _, err := s.WorksIn(t.Context(), "/w/app"); return err },
	} {
		for query, plan := range plans(t, s, config, look) {
			for line := range strings.Lines(plan) {
				if strings.Contains(line, " e ") && !strings.Contains(line, "INDEX executions_live_in_folder") {
					t.Errorf("%s: %s\nis planned as\n%s", name, query, plan)
				}
			}
		}
	}
}

package main

import (
	"os"
	"sync"
	"testing"
)

// TestServersStartTogether has servers begin in one empty folder at the same moment: each of them reads a whole file, whoever wrote it.
func TestServersStartTogether(t *testing.T) {
	for range 50 {
		t.Chdir(t.TempDir())
		var servers sync.WaitGroup
		for range 8 {
			servers.Go(func() {
				if err := (Config{}).makeConfigFile(); err != nil {
					t.Error(err)
				}
				if _, err := (Config{}).readConfigFile(); err != nil {
					t.Error(err)
				}
			})
		}
		servers.Wait()
		if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 || entries[0].Name() != "signoff.yaml" {
			t.Fatalf("the folder holds %v, %v", entries, err)
		}
	}
}

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"signoff/internal/llm"
)

var commentedModel = regexp.MustCompile(`(?m)^  # (\w+): (\{provider: ([\w-]+),.*?\}) *(?:# (\w+))?$`)

// TestTheFirstFileNamesEachProvider holds the models that the first file has in comments against the table of providers: each line works as
// it stands without its mark, and says which key it takes.
func TestTheFirstFileNamesEachProvider(t *testing.T) {
	missing := llm.Providers()
	lines := commentedModel.FindAllStringSubmatch(firstConfig, -1)
	for _, line := range lines {
		text, name, entry, of, key := line[0], line[1], line[2], line[3], line[4]
		missing = slices.DeleteFunc(missing, func(provider string) bool { return provider == of })
		config := written(t, strings.Replace(firstConfig, text, strings.Replace(text, "# ", "", 1), 1))
		read, err := config.readConfigFile()
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		models, err := read.openModels(nil, nil, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		if !models.Has(name) || models.Default() != "demo" {
			t.Errorf("%s: the models are %v, and the default is %s", entry, models.Names(), models.Default())
		}
		models.Close()
		if named := strings.Contains(entry, "apiKeyEnv"); !named && read.Models.Models[name].APIKeyEnv != key {
			t.Errorf("%s: the key is read from %q, not from %q", entry, read.Models.Models[name].APIKeyEnv, key)
		}
	}
	missing = slices.DeleteFunc(missing, func(provider string) bool { return provider == "demo" })
	if len(missing) > 0 || strings.Count(firstConfig, "{provider: ") != len(lines)+1 {
		t.Errorf("not in the file: %v; it has %d lines that are read", missing, len(lines))
	}
}

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

package template

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what MiniJinja says into testdata/fixtures.json")

const fixturesFile = "testdata/fixtures.json"

// fixture is a template with what MiniJinja makes of it, or nothing where it refuses.
type fixture struct {
	Name     string  `json:"name"`
	Template string  `json:"template"`
	Expect   *string `json:"expect"`
}

func fixtures(t *testing.T) (cases []fixture, variables json.RawMessage) {
	t.Helper()
	content, err := os.ReadFile(fixturesFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	if variables, err = os.ReadFile("testdata/variables.json"); err != nil {
		t.Fatal(err)
	}
	return cases, variables
}

// TestFixturesAreMiniJinja installs the real engine from npm and asks it: what is committed must be its answers.
func TestFixturesAreMiniJinja(t *testing.T) {
	if testing.Short() {
		t.Skip("installs from npm")
	}
	cases, variables := fixtures(t)
	said := miniJinja(t, cases, variables)
	for i := range cases {
		if !*update && !cmp.Equal(cases[i].Expect, said[i]) {
			t.Errorf("%s: MiniJinja says otherwise than the fixture:\n%s", cases[i].Name, cmp.Diff(cases[i].Expect, said[i]))
		}
		cases[i].Expect = said[i]
	}
	if *update {
		write(t, cases)
	}
}

func write(t *testing.T, cases []fixture) {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(cases); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fixturesFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func miniJinja(t *testing.T, cases []fixture, variables json.RawMessage) (texts []*string) {
	t.Helper()
	input, err := json.Marshal(map[string]any{"cases": cases, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/minijinja")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = folder
	if output, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm, which this test needs, cannot install MiniJinja: %v\n%s", err, output)
	}
	node := exec.CommandContext(ctx, "node", filepath.Join(folder, "render.cjs"))
	node.Stdin, node.Stderr = bytes.NewReader(input), os.Stderr
	output, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(output, &texts); err != nil || len(texts) != len(cases) {
		t.Fatalf("%d answers for %d fixtures: %v", len(texts), len(cases), err)
	}
	return texts
}

// TestWeAgreeWithMiniJinja renders the fixtures. Where we differ, and there alone, docs/templates.md says so.
func TestWeAgreeWithMiniJinja(t *testing.T) {
	cases, variables := fixtures(t)
	renderer := NewRenderer()
	var differ []string
	for _, c := range cases {
		text, err := render(t, renderer, c.Template, string(variables))
		if (err != nil) == (c.Expect == nil) && (err != nil || text == *c.Expect) {
			continue
		}
		differ = append(differ, c.Name)
		t.Logf("%s: we say %q, %v; MiniJinja %s", c.Name, text, err, cmp.Diff(nil, c.Expect))
	}
	if len(cases) < 100 || len(differ)*20 > len(cases) {
		t.Errorf("we differ in %d of %d cases: less than 95 of 100 agree", len(differ), len(cases))
	}
	slices.Sort(differ)
	if diff := cmp.Diff(differ, documentedDifferences(t)); diff != "" {
		t.Errorf("the differences (-) and those in docs/templates.md (+):\n%s", diff)
	}
}

func documentedDifferences(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Differences\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/templates.md has no section about differences")
	}
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(section, -1)[1:] {
		if !strings.HasPrefix(row[1], "---") {
			names = append(names, row[1])
		}
	}
	slices.Sort(names)
	return names
}

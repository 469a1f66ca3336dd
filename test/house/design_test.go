package house

import (
	"go/parser"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// designPlaces are the files and folders that the design fixes.
var designPlaces = []string{
	"cmd/server", "api/openapi.yaml", "internal/http", "internal/sessions", "internal/acp", "internal/llm", "internal/approvals", "internal/store",
	"migrations", "deploy", "Dockerfile", "docker-compose.yml",
}

// designModules are the libraries that the design fixes, each with the folder of the product that imports it.
var designModules = map[string]string{
	"github.com/go-chi/chi":                "internal/http",
	"github.com/jackc/pgx":                 "internal/store",
	"github.com/coder/acp-go-sdk":          "internal/acp",
	"github.com/openai/openai-go":          "internal/llm",
	"github.com/google/uuid":               "internal",
	"github.com/golang-migrate/migrate":    "internal/store",
	"github.com/kelseyhightower/envconfig": "cmd/server",
}

// product tells whether a file is of the server, and of no test or tool.
func product(name string) bool {
	return below(name, "cmd", "internal") && strings.HasSuffix(name, ".go") && !strings.Contains(name, "test/") && !strings.HasSuffix(name, "_test.go")
}

// TestTheDesignKeepsItsPlaces: other repositories, pipelines and people find them by these names.
func TestTheDesignKeepsItsPlaces(t *testing.T) {
	all := files(t)
	for _, place := range designPlaces {
		if !slices.ContainsFunc(all, func(name string) bool { return below(name, place) }) {
			t.Errorf("%s is gone", place)
		}
	}
	for _, name := range all {
		if product(name) && parse(t, name, parser.PackageClauseOnly).Name.Name == "main" && !below(name, "cmd/server") {
			t.Errorf("%s is a program: cmd/server is the only one", name)
		}
	}
}

// TestTheDesignKeepsItsModules: a module of the design that only a test imports would be kept for show.
func TestTheDesignKeepsItsModules(t *testing.T) {
	imported := map[string]bool{}
	for _, name := range goFiles(t) {
		if !product(name) {
			continue
		}
		for _, spec := range parse(t, name, parser.ImportsOnly).Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for module, folder := range designModules {
				if below(path, module) && below(name, folder) {
					imported[module] = true
				}
			}
		}
	}
	for module, folder := range designModules {
		if !imported[module] {
			t.Errorf("nothing in %s imports %s", folder, module)
		}
	}
}

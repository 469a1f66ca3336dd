package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/acp/acptest"
	"signoff/internal/store/storetest"
	"signoff/test/harness"
)

// binary is the server under test: that of TEST_SERVER, or one that is built once, the way the tests were built.
var binary string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == mcpProgram {
		serveNotes()
		return
	}
	os.Exit(built(m))
}

func built(m *testing.M) int {
	if binary = os.Getenv("TEST_SERVER"); binary != "" {
		raceFlags = nil
		waitTogether()
		return storetest.Main(withAgent{m})
	}
	folder, err := os.MkdirTemp("", "signoff-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	binary = filepath.Join(folder, "signoff")
	if err := harness.Build(binary, raceFlags...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	waitTogether()
	return storetest.Main(withAgent{m})
}

// withAgent are tests that may have built the scripted agent.
type withAgent struct{ tests *testing.M }

func (w withAgent) Run() int { return kept(acptest.Main(w.tests)) }

// waitTogether runs more tests at once than there are processors, unless somebody has said how many: those of external
// agents mostly wait for clocks.
func waitTogether() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		_ = flag.Set("test.parallel", "8")
	}
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(t *testing.T, engine engine)) {
	onSQLite(t, test)
	onPostgres(t, test)
}

// onSQLite and onPostgres are for tests of behaviour that the engine has no part in, or that the tests of internal/store and internal/sessions show on both.
// A second walk over the other engine would take minutes and find nothing.
func onSQLite(t *testing.T, test func(t *testing.T, engine engine)) {
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, engine{}) })
}

func onPostgres(t *testing.T, test func(t *testing.T, engine engine)) {
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); test(t, engine{url: postgres(t)}) })
}

// engine is the database of a test; without a URL each server has a file of its own.
type engine struct{ url string }

// postgres is the URL of a database with the schema of this version, or starts of servers would be half migrations.
func postgres(t *testing.T) string { return storetest.Migrated(t) }

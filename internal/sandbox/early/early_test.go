package early_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLittleIsImported names what has made the stages slow. The standard library's net waits for packages that come last
// of all, so with it nearly everything is set up first; and what others write sets up tables and compiles schemas.
func TestLittleIsImported(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "signoff/internal/sandbox/early").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range strings.Fields(string(list)) {
		first, _, _ := strings.Cut(imported, "/")
		foreign := strings.Contains(first, ".") && imported != "golang.org/x/sys/unix"
		if foreign || first == "net" || first == "vendor" {
			t.Errorf("%s is imported, so that each stage of a command begins some milliseconds later", imported)
		}
	}
}

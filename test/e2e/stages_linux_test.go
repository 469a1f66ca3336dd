package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// A command starts this binary three times, and each of them begins before what no stage has any use for is set up: see package early. What a stage
// imports does not tell that, since Go sorts packages by their names as well.
func TestAStageBeginsFirst(t *testing.T) {
	stage := exec.Command(binary, "__supervise") // which ends at once, without an order
	stage.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	output, _ := stage.CombinedOutput()
	var setUp []string
	for _, line := range regexp.MustCompile(`(?m)^init (\S+) `).FindAllStringSubmatch(string(output), -1) {
		setUp = append(setUp, line[1])
	}
	if !slices.Contains(setUp, "signoff/internal/sandbox") {
		t.Fatalf("%s", output)
	}
	for _, slow := range []string{"net/http", "github.com/santhosh-tekuri/jsonschema/v6", "modernc.org/sqlite/lib", "signoff/internal/approvals/shell", "signoff/internal/secrets"} {
		if slices.Contains(setUp, slow) {
			t.Errorf("%s is set up first", slow)
		}
	}
}

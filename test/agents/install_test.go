//go:build agents && linux

package agents

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed npm
var manifests embed.FS

// manifest is a locked list of npm packages, the folder npm/NAME.
type manifest struct {
	name  string
	needs string // a file of the installation without which it is none
	// loose: its lock file cannot name all that its manifest wants, since packages for other platforms, optional ones,
	// were published incompletely. `npm ci` refuses that; `npm install` installs what is locked and passes over the rest.
	loose bool
}

// installed returns the folder of the installation, which may be from an earlier run.
func (m manifest) installed(t testing.TB) string {
	t.Helper()
	folder, err := m.folder()
	if err == nil && !m.complete(folder) {
		err = m.install(t.Context(), folder)
	}
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return folder
}

// folder changes with the lock file, so that nobody tests an older version without knowing.
func (m manifest) folder() (string, error) {
	lock, err := manifests.ReadFile("npm/" + m.name + "/package-lock.json")
	if err != nil {
		return "", err
	}
	root, err := cache()
	hash := sha256.Sum256(lock)
	return filepath.Join(root, m.name+"-"+hex.EncodeToString(hash[:6])), err
}

func cache() (string, error) {
	root, err := os.UserCacheDir()
	if err != nil { // there is no home
		root = os.TempDir()
	}
	root = filepath.Join(root, "signoff-agents")
	return root, os.MkdirAll(root, 0o755)
}

func (m manifest) complete(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, m.needs))
	return err == nil
}

// install fills a folder beside its place and moves it there in one step: an installation that was interrupted is never
// taken for one, and of two at the same time the later one finds the place taken and uses what is there.
func (m manifest) install(ctx context.Context, place string) error {
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
		return fmt.Errorf("npm has installed no %s; its packages may not exist for this machine", m.needs)
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
func (m manifest) fill(ctx context.Context, folder string) error {
	files, err := fs.Sub(manifests, "npm/"+m.name)
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, files); err != nil {
		return err
	}
	how := []string{"ci"}
	if m.loose {
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
		return fmt.Errorf("npm, which these tests install agents with, is not on the PATH (Debian: apt-get install -y npm): %w", err)
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

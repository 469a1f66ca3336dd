package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"signoff/internal/domain"
)

// SecretName is a pattern of names under which secrets lie, in any folder that an environment shows for reading.
type SecretName struct {
	Pattern string // as path.Match reads it
	What    string // for the documentation
	Content string // without it, the file is no secret: certificates, which everybody may read, have the names of keys
}

// SecretNames are the names of private keys and of files with credentials, wherever applications keep them. They are looked for below the folders that an
// environment shows for reading, and covered there. A mount that is written is taken as the workspace is: with all that is in it.
var SecretNames = []SecretName{
	{Pattern: "master.key", What: "keys of applications"},
	{Pattern: "*.key", What: "private keys", Content: privateKey},
	{Pattern: "*.pem", What: "private keys", Content: privateKey},
	{Pattern: "*.crt", What: "certificates with their private keys", Content: privateKey},
	{Pattern: "id_*", What: "private keys of SSH", Content: privateKey},
	{Pattern: "*.ppk", What: "private keys of PuTTY"},
	{Pattern: "*.p12", What: "private keys with their certificates"},
	{Pattern: "*.pfx", What: "private keys with their certificates"},
	{Pattern: "*.jks", What: "key stores of Java"},
	{Pattern: "*.keystore", What: "key stores of Java"},
	{Pattern: "*.keytab", What: "keys of Kerberos"},
	{Pattern: "*.kdbx", What: "password safes"},
	{Pattern: "*.kubeconfig", What: "credentials of Kubernetes"},
	{Pattern: "*.tfstate", What: "states of Terraform, which hold passwords"},
	{Pattern: ".env", What: "passwords of applications"},
	{Pattern: ".env.*", What: "passwords of applications"},
	{Pattern: ".ssh", What: "private keys of SSH"},
	{Pattern: ".gnupg", What: "private keys of GnuPG"},
	{Pattern: ".aws", What: "keys of a cloud"},
	{Pattern: ".azure", What: "keys of a cloud"},
	{Pattern: "application_default_credentials.json", What: "keys of a cloud"},
	{Pattern: ".kube", What: "credentials of Kubernetes"},
	{Pattern: ".docker", What: "passwords of registries"},
	{Pattern: ".dockercfg", What: "passwords of registries"},
	{Pattern: ".dockerconfigjson", What: "passwords of registries"},
	{Pattern: ".netrc", What: "passwords of servers"},
	{Pattern: ".pgpass", What: "passwords of databases"},
	{Pattern: ".my.cnf", What: "passwords of databases"},
	{Pattern: ".mylogin.cnf", What: "passwords of databases"},
	{Pattern: ".npmrc", What: "tokens of package sources"},
	{Pattern: ".pypirc", What: "tokens of package sources"},
	{Pattern: ".git-credentials", What: "passwords of repositories"},
	{Pattern: ".htpasswd", What: "password hashes of web servers"},
	{Pattern: ".vault-token", What: "tokens of Vault"},
	{Pattern: ".password-store", What: "password safes"},
	{Pattern: "wp-config.php", What: "the database's password of WordPress"},
	{Pattern: "gitlab-secrets.json", What: "secrets of GitLab"},
}

const privateKey = "PRIVATE KEY"

// Bounds of the search. Beyond the entries nothing is looked for: there the modes of files are what protects them.
const (
	maxSearched    = 200_000 // entries below one folder
	searchTime     = 2 * time.Second
	searchInterval = 30 * time.Second // what is found holds for that long
	contentLimit   = 64 << 10
	maxInFolder    = 8 // with more secrets than these, a folder is covered as a whole
	maxCovered     = 1000
)

// keySearch finds secrets by their names, and remembers for a moment what it has found.
type keySearch struct {
	mu    sync.Mutex
	found map[string]keysFound // folder → the secrets in it
}

type keysFound struct {
	at    time.Time
	paths []string
	whole bool // all of it was looked at
}

// in lists the secrets in the folders that are shown for reading.
func (k *keySearch) in(all []shown) ([]string, error) {
	var paths []string
	for _, one := range all {
		if one.Write || one.Target != "" {
			continue
		}
		paths = append(paths, k.below(one.Path).paths...)
	}
	if len(paths) > maxCovered {
		return nil, domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment shows more than %d folders with private keys or credentials, such as %s. "+
			"Name the folders above them in hide.", maxCovered, paths[0])
	}
	return paths, nil
}

// below lists the secrets in a folder, as they were at most [searchInterval] ago.
func (k *keySearch) below(folder string) keysFound {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, known := k.found[folder]; known && time.Since(found.at) < searchInterval {
		return found
	}
	if k.found == nil {
		k.found = map[string]keysFound{}
	}
	k.found[folder] = search(folder)
	return k.found[folder]
}

// search looks through a folder, the upper folders first: a bound then cuts off what lies deepest.
func search(folder string) keysFound {
	found := keysFound{at: time.Now(), whole: true}
	seen := 0
	for queue := []string{folder}; len(queue) > 0; queue = queue[1:] {
		entries, err := os.ReadDir(queue[0])
		if err != nil {
			continue // it is gone, or no folder, or nobody who runs as this user reads it
		}
		if seen += len(entries); seen > maxSearched || time.Since(found.at) > searchTime {
			found.whole = false
			break
		}
		var secret []string
		for _, entry := range entries {
			at := filepath.Join(queue[0], entry.Name())
			switch {
			case isSecretName(at, entry):
				secret = append(secret, at)
			case entry.IsDir():
				queue = append(queue, at)
			}
		}
		if len(secret) > maxInFolder && queue[0] != folder {
			secret = []string{queue[0]}
		}
		found.paths = append(found.paths, secret...)
	}
	return found
}

func isSecretName(at string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink != 0 { // what it leads to is judged where that lies
		return false
	}
	for _, name := range SecretNames {
		if matches, _ := path.Match(name.Pattern, entry.Name()); matches && (name.Content == "" || entry.Type().IsRegular() && holds(at, name.Content)) {
			return true
		}
	}
	return false
}

// HoldsSecret reports whether a file is one of [SecretNames], by its path and its content.
func HoldsSecret(at string, content []byte) bool {
	for _, name := range SecretNames {
		for part := range strings.SplitSeq(strings.Trim(filepath.ToSlash(at), "/"), "/") {
			matches, _ := path.Match(name.Pattern, part)
			if matches && (name.Content == "" || part == filepath.Base(at) && mayHold(at, content, name.Content)) {
				return true
			}
		}
	}
	return false
}

// holds reports whether the beginning of a file has some text in it, or nobody can say.
func holds(at, text string) bool {
	file, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return true
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, contentLimit))
	return err != nil || mayHold(at, content, text)
}

// mayHold reports whether a content holds a text, or is a key in binary form.
func mayHold(at string, content []byte, text string) bool {
	return bytes.Contains(content, []byte(text)) || bytes.HasPrefix(content, []byte{0x30, 0x82}) && !strings.HasSuffix(at, ".crt")
}

// Unsearched lists the folders of an environment that are too large to be looked through for private keys and credentials.
func (s *Sandbox) Unsearched(e domain.Environment) []string {
	var all []string
	for _, one := range shownBy(e) {
		if !one.Write && !s.keys.below(one.Path).whole {
			all = append(all, fmt.Sprintf("%s (more than %d files)", one.Path, maxSearched))
		}
	}
	return all
}

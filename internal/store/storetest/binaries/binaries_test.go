package binaries

import (
	"io"
	"strings"
	"testing"
)

func TestNewestFirst(t *testing.T) {
	paths := []string{"/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/15/bin"}
	newestFirst(paths)
	if got := strings.Join(paths, " "); got != "/usr/lib/postgresql/17/bin /usr/lib/postgresql/15/bin /usr/lib/postgresql/9.6/bin" {
		t.Error(got)
	}
}

func TestWrongPGBin(t *testing.T) {
	t.Setenv("PG_BIN", t.TempDir())
	if _, err := Find(io.Discard); err == nil || !strings.Contains(err.Error(), "PG_BIN") {
		t.Errorf("an empty PG_BIN folder: %v", err)
	}
}

func TestInstallCommand(t *testing.T) {
	for name, test := range map[string]struct{ goos, osRelease, want string }{
		"Debian": {"linux", "PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n", "sudo apt-get install -y postgresql"},
		"Mint":   {"linux", "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "sudo apt-get install -y postgresql"},
		"Fedora": {"linux", "ID=fedora\n", "sudo dnf install -y postgresql-server"},
		"macOS":  {"darwin", "", "brew install postgresql@17"},
		"other":  {"linux", "ID=plan10\n", "export PG_BIN=<the folder with initdb, pg_ctl and postgres>"},
	} {
		if got := installCommand(test.goos, test.osRelease); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

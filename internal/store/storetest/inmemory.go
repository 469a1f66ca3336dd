package storetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// InMemory returns a folder of the test that no disk has to be waited for, where the machine has room for one. As with
// the private cluster, what lies there outlives any death of a process, and not that of the machine.
func InMemory(tb testing.TB) string {
	tb.Helper()
	if !roomInMemory() {
		return tb.TempDir()
	}
	removeLeftoversInMemory()
	folder, err := os.MkdirTemp(memory, folderOf(os.Getpid())+"*") //nolint:usetesting // TempDir is wherever TMPDIR says
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// DataDir makes the data folder of a server under test, and returns the folder in which its database really lies: in
// memory. The test packages that run beside it sync their files, and on one slow disk a commit once took longer than
// the server's lease. Only the database is elsewhere. The rest of the folder, such as the token, stays where an attacker
// looks for it: a folder below /dev/shm would be out of a sandbox's reach whatever the server hides.
func DataDir(tb testing.TB, folder string) (database string) {
	tb.Helper()
	database = InMemory(tb)
	if err := os.Mkdir(folder, 0o700); err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	if err := os.Symlink(filepath.Join(database, databaseName), filepath.Join(folder, databaseName)); err != nil {
		tb.Fatalf("storetest: %v", err)
	}
	return database
}

// databaseName is what a server calls its database.
const databaseName = "signoff.db"

// folderOf is how the folders of a process begin.
func folderOf(pid int) string { return fmt.Sprintf("signoff-test-%d-", pid) }

var removingLeftovers sync.Once

// removeLeftoversInMemory removes, once in a process, what killed tests have left: memory is not given back by waiting.
func removeLeftoversInMemory() {
	removingLeftovers.Do(func() {
		left, _ := filepath.Glob(filepath.Join(memory, "signoff-test-*"))
		for _, folder := range left {
			var pid int
			_, err := fmt.Sscanf(filepath.Base(folder), "signoff-test-%d-", &pid)
			if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				_ = os.RemoveAll(folder)
			}
		}
	})
}

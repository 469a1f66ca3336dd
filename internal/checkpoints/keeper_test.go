package checkpoints

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"signoff/internal/domain"
)

// TestAnIdleKeeperForgetsItsFiles: an execution that waits for a person holds no list of a large folder, and its next checkpoint finds the same changes.
func TestAnIdleKeeperForgetsItsFiles(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFolder(t, rt)
			for i := range idleFiles + 1 {
				if err := os.WriteFile(filepath.Join(f.path, fmt.Sprint(i)), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			a := f.agent("e1")
			defer a.Close()
			a.must(a.BeginTurn(t.Context()))
			a.settle()
			time.Sleep(idleAfter - time.Second)
			synctest.Wait()
			a.mu.Lock()
			waits := a.idle != nil
			a.mu.Unlock()
			if !waits {
				t.Error("it has forgotten its files before the minute is over")
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if held := a.worker.held(); held != 0 {
				t.Errorf("after a minute it holds %d files", held)
			}
			a.must(a.BeforeCall(t.Context(), "c"))
			if err := os.Remove(filepath.Join(f.path, "7")); err != nil {
				t.Fatal(err)
			}
			a.must(a.AfterCall(t.Context(), "c"))
			a.settle()
			if len(a.log) != 2 || a.log[1].Folders[0].ChangedPaths != 1 || a.log[1].Folders[0].Changes[0].Path != "7" {
				t.Errorf("the checkpoints are %+v", a.log)
			}
		})
	})
}

// TestAChangeBesideAFailedCheckpointIsUncertain: without the checkpoint before a call, nobody can tell the changes of the call from those that a person made before it.
func TestAChangeBesideAFailedCheckpointIsUncertain(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		var log []domain.CheckpointCreated
		k := f.service.Keep(Execution{ID: "e1", Mode: domain.CheckpointsBestEffort, Folders: []string{f.path}}, func(_ context.Context, event domain.CheckpointCreated) error {
			log = append(log, event)
			return nil
		})
		defer k.Close()
		a := &agent{Keeper: k, folder: f, name: "e1"}
		write := func(name string) { a.must(os.WriteFile(filepath.Join(f.path, name), []byte(name), 0o644)) }
		a.must(a.BeginTurn(t.Context()))
		a.settle()
		write("by a person")
		f.git.Fails.Store(true)
		a.must(a.BeforeCall(t.Context(), "c"))
		f.git.Fails.Store(false)
		write("by the call")
		a.must(a.AfterCall(t.Context(), "c"))
		a.settle()
		if len(log) != 3 || log[1].Status != domain.CheckpointFailed {
			t.Fatalf("the checkpoints are %+v", log)
		}
		for _, change := range log[2].Folders[0].Changes {
			if change.By != domain.ByUncertain {
				t.Errorf("%s was changed by %s", change.Path, change.By)
			}
		}
		if log[2].Folders[0].ChangedPaths != 2 {
			t.Errorf("the last checkpoint is %+v", log[2])
		}
	})
}

// TestAFileThatIsMovedIntoTheFolderIsUncertain: nobody is seen to write a file that only gets another name. It was there before the call, so the call has not made it.
func TestAFileThatIsMovedIntoTheFolderIsUncertain(t *testing.T) {
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		outside := t.TempDir()
		a := f.agent("e1")
		defer a.Close()
		write := func(folder, name string) { a.must(os.WriteFile(filepath.Join(folder, name), []byte(name), 0o644)) }
		move := func(from, to string) { a.must(os.Rename(from, filepath.Join(f.path, to))) }
		write(outside, "new")
		write(outside, "other")
		write(f.path, "replaced")
		write(f.path, "renamed")
		a.must(a.BeginTurn(t.Context()))
		a.settle()
		time.Sleep(clockTick) // of the file system, whose clock no test can turn
		a.must(a.BeforeCall(t.Context(), "c"))
		move(filepath.Join(outside, "new"), "new")
		move(filepath.Join(outside, "other"), "replaced")
		move(filepath.Join(f.path, "renamed"), "renamed by the call")
		write(f.path, "written by the call")
		a.must(a.AfterCall(t.Context(), "c"))
		a.settle()
		found := map[string]domain.ChangeBy{}
		for _, change := range a.log[1].Folders[0].Changes {
			found[change.Path] = change.By
		}
		want := map[string]domain.ChangeBy{
			"new": domain.ByUncertain, "replaced": domain.ByUncertain, "renamed by the call": domain.ByExecution, "written by the call": domain.ByExecution,
		}
		if !maps.Equal(found, want) {
			t.Errorf("the paths were changed by %v", found)
		}
	})
}

// TestAFileThatSomebodyHasOpenIsUncertain: who writes through mapped memory is seen only when the file is closed, which may be after the checkpoint.
func TestAFileThatSomebodyHasOpenIsUncertain(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED, only Linux tells whether a file is open for writing")
	}
	checks(t, "1")
	rapid.Check(t, func(rt *rapid.T) {
		f := newFolder(t, rt)
		a := f.agent("e1")
		defer a.Close()
		write := func(name, content string) { a.must(os.WriteFile(filepath.Join(f.path, name), []byte(content), 0o644)) }
		write("mapped", "before")
		a.must(a.BeginTurn(t.Context()))
		a.settle()
		a.must(a.BeforeCall(t.Context(), "c"))
		opened, err := os.OpenFile(filepath.Join(f.path, "mapped"), os.O_RDWR, 0)
		a.must(err)
		mapped, err := syscall.Mmap(int(opened.Fd()), 0, 6, syscall.PROT_WRITE, syscall.MAP_SHARED)
		a.must(err)
		defer func() { a.must(syscall.Munmap(mapped)) }()
		a.must(opened.Close())
		copy(mapped, "PERSON")
		write("written by the call", "")
		a.must(a.AfterCall(t.Context(), "c"))
		a.settle()
		found := map[string]domain.ChangeBy{}
		for _, change := range a.log[1].Folders[0].Changes {
			found[change.Path] = change.By
		}
		if want := map[string]domain.ChangeBy{"mapped": domain.ByUncertain, "written by the call": domain.ByExecution}; !maps.Equal(found, want) {
			t.Errorf("the paths were changed by %v", found)
		}
	})
}

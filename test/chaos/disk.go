//go:build linux

package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/store/storetest"
)

// disk fills disks and makes them slow: that of the SQLite file, that of Postgres, that of the workspace. What the machine does not
// allow is said and left out.
func disk(r *run) {
	full := []func(r *run){fullSQLite, fullPostgres, fullWorkspace}
	slow := []func(r *run){slowSQLite, slowPostgres}
	inTurn := func(faults []func(r *run), cycles int) {
		for cycle := range cycles {
			faults[cycle%len(faults)](r)
			r.cycled()
		}
	}
	ofThem := r.cycles * len(slow) / (len(full) + len(slow))
	r.sideBySide(func() { inTurn(full, r.cycles-ofThem) }, func() { inTurn(slow, ofThem) })
}

// smallDisks runs do on a thread that sees a file system of its own in which it may mount. Whatever do starts itself sees the same; with the
// last of them, the mounts are gone, also when the campaign is killed.
func (r *run) smallDisks(what string, do func()) {
	finished := make(chan any)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		defer func() { finished <- recover() }()
		if err := ownMounts(); err != nil {
			r.skip(what, err)
			return
		}
		do()
	}()
	if broke := <-finished; broke != nil {
		panic(broke)
	}
}

func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("no mount namespace: %w", err)
	}
	return unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
}

// ballast fills the file system of a folder but for some bytes, and returns a function that frees the space.
func (r *run) ballast(folder string, but int64) (free func()) {
	path := filepath.Join(folder, "ballast")
	file, err := os.Create(path)
	r.must(err)
	defer file.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = file.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		r.must(err)
	}
	size, err := file.Seek(0, io.SeekEnd)
	r.must(err)
	r.must(file.Truncate(max(0, size-but)))
	return func() { r.must(os.Remove(path)) }
}

// fullSQLite fills the disk of the data folder.
func fullSQLite(r *run) {
	r.smallDisks("a full disk under SQLite", func() {
		w := newWorld(r, setup{name: "full-sqlite", mounts: true, live: 12})
		defer w.close()
		s := w.servers[0]
		s.stop()
		data := filepath.Join(s.home, "data")
		r.must(w.onSmallDisk(data, 64))
		s.start()
		w.starve(data, func() {})
	})
}

// onSmallDisk mounts a disk of so many megabytes over a folder, with the content of the folder.
func (w *world) onSmallDisk(folder string, megabytes int) error {
	aside := folder + ".aside"
	if err := os.Rename(folder, aside); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("none", folder, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes)); err != nil {
		return err
	}
	return os.CopyFS(folder, os.DirFS(aside))
}

// fullPostgres fills the disk of a cluster of its own, which storetest makes in /var/tmp: that is a small disk here.
func fullPostgres(r *run) {
	r.smallDisks("a full disk under Postgres", func() {
		r.must(unix.Mount("none", "/var/tmp", "tmpfs", 0, "size=160m,mode=1777"))
		cluster, err := storetest.NewCluster(false)
		r.must(err)
		defer func() { r.must(cluster.Stop()) }()
		database, err := cluster.Database()
		r.must(err)
		w := newWorld(r, setup{name: "full-postgres", mounts: true, database: database, replicas: 2, live: 12})
		defer w.close()
		w.starve("/var/tmp", func() { r.revive(cluster) })
	})
}

// revive waits until Postgres answers. If it could not write its journal and has shut itself down, revive starts it again.
func (r *run) revive(cluster *storetest.Cluster) {
	for end := time.Now().Add(60 * time.Second); ; r.sleep(50 * time.Millisecond) {
		err := cluster.Answers(r.ctx)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			r.must(fmt.Errorf("the database does not come back when there is space: %w", err))
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			r.count("Postgres had given up", 1)
			r.must(cluster.Up())
		}
	}
}

// starve fills a disk under load, again and again, and gives the space back. Meanwhile nothing new is taken, and it is said so.
func (w *world) starve(folder string, revive func()) {
	d := w.run.dice.own()
	watch := w.watch()
	defer watch.close()
	w.load.start()
	for range 2 {
		w.load.awaitLive(8)
		w.run.sleep(d.between(200*time.Millisecond, 800*time.Millisecond))
		free := w.run.ballast(folder, int64(d.below(400_000)))
		w.refuses(folder)
		w.run.sleep(d.between(500*time.Millisecond, 2*time.Second))
		free()
		revive()
		w.run.count("full disks", 1)
		watch.heal(time.Now())
	}
	w.load.settle(comeBack)
	watch.close()
	w.check()
}

// refuses waits until a server says that it cannot take an execution, and that it is not ready. What fills the rest of its disk is
// noise: fifty thousand times the same letter are six hundred bytes to Postgres, and it has room for many of those.
func (w *world) refuses(folder string) {
	unready, refused := false, false
	noise := make([]byte, 37_500)
	_, _ = rand.Read(noise) // it never fails
	filler := "full " + base64.RawURLEncoding.EncodeToString(noise)
	w.run.await(time.Minute, func() bool {
		a := w.ask(w.run.ctx, w.servers[0], http.MethodGet, "/readyz", nil)
		unready = unready || a.status == http.StatusServiceUnavailable
		refused = refused || w.make(filler).status == http.StatusServiceUnavailable
		return unready && refused
	})
	w.run.expect(refused, "%s: F16: the disk of %s is full, and executions are taken", w.name, folder)
	w.run.expect(unready, "%s: F16: the disk of %s is full, and /readyz says ready", w.name, folder)
}

// fullWorkspace fills the disk that an agent writes files to. A file is the old one or the new one, and no half is left beside it.
func fullWorkspace(r *run) {
	r.smallDisks("a full workspace", func() {
		folder, err := os.MkdirTemp(r.stage.folder, "disk-")
		r.must(err)
		defer os.RemoveAll(folder)
		scenarios := newScenarios(map[string]scenario{"write": once("write", func(key string) object {
			return object{"path": "small/file", "content": strings.Repeat(key+"\n", 100_000/(len(key)+1))}
		})})
		defer scenarios.close()
		w := newWorld(r, setup{name: "full-workspace", mounts: true, env: map[string]string{"SIGNOFF_CONFIG": scenarios.config(r, folder, object{})}})
		defer w.close()
		small := filepath.Join(w.workspace, "small")
		r.must(os.Mkdir(small, 0o750))
		r.must(unix.Mount("none", small, "tmpfs", 0, "size=8m,mode=0755"))
		w.write("before", "succeeded")
		old := w.smallFile()
		free := r.ballast(small, int64(r.dice.below(90_000)))
		w.write("meanwhile", "failed")
		r.expect(w.smallFile() == old, "%s: F17: a file that could not be written is not the old one", w.name)
		names, err := fs.Glob(os.DirFS(small), "*")
		r.must(err)
		r.expect(len(names) == 2, "%s: F17: beside the file and the ballast there are %q", w.name, names)
		free()
		w.write("afterwards", "succeeded")
		r.expect(w.smallFile() != old, "%s: F17: a file is not written although there is space again", w.name)
		r.count("full disks", 1)
		w.load.settle(time.Second)
	})
}

func (w *world) smallFile() string {
	content, err := os.ReadFile(filepath.Join(w.workspace, "small", "file"))
	w.run.must(err)
	return string(content)
}

// write has an execution write the file, and looks what became of the call. A busy machine may turn a creation away, or say nothing on a
// stream for a while.
func (w *world) write(key, outcome string) {
	a := w.insist(w.run.ctx, &w.run.dice, http.MethodPost, "/executions", object{"source": object{"type": "internal"},
		"prompt": "scenario write " + key, "capabilities": object{"read": "allow", "write": "allow"}, "metadata": object{"key": key}}, "Idempotency-Key", key)
	var created struct{ ID string }
	w.run.must(a.into(&created))
	got, last := "", int64(0)
	w.run.await(time.Minute, func() bool {
		ended, _ := w.follow(w.run.ctx, w.servers[0], created.ID, last, func(e event) {
			var call struct{ Outcome string }
			if last = e.Seq; e.Type == "toolCall.completed" && e.Into(&call) == nil {
				got = call.Outcome
			}
		})
		return ended
	})
	w.run.operation(got == outcome)
	w.run.expect(got == outcome, "%s: F17: the call %s is %q, not %s", w.name, key, got, outcome)
}

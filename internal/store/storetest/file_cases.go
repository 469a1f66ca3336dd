package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const foreign = domain.TenantID("foreign")

func newFile(content string) store.NewFile {
	return store.NewFile{ID: domain.NewFileID(newID()), Name: "é.png", MediaType: domain.MediaPNG, Content: []byte(content), Room: 1 << 20}
}

// uploaded stores a file that no execution uses.
func (w *world) uploaded(content string) domain.FileID {
	w.Helper()
	file := newFile(content)
	ok(w.s.SaveFile(w.ctx, tenant, file))(w)
	return file.ID
}

// creationWith is a creation whose prompt has a file.
func creationWith(files ...domain.FileID) store.Change {
	c := creation(domain.ExecutionID(newID()))
	c.Create.Execution.Request.Parts = partsOf(files)
	return c
}

func partsOf(files []domain.FileID) (parts []domain.PromptPart) {
	for _, id := range files {
		parts = append(parts, domain.PromptPart{Type: domain.PartImage, FileID: id})
	}
	return parts
}

// removeFiles removes what no execution uses, whatever its age is, and returns how many these were.
func (w *world) removeFiles() int {
	w.Helper()
	if n := ok(w.s.RemoveOrphans(w.ctx, 100))(w); n > 0 {
		w.Errorf("%d files are left of executions that are gone", n)
	}
	return ok(w.s.RemoveUploads(w.ctx, 0, 100))(w)
}

// deleteAll deletes an execution that has not ended, with all its rows.
func (w *world) deleteAll(id domain.ExecutionID) {
	w.Helper()
	w.accepted(ending(id, 1))
	w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
	w.removed(id)
}

func (w *world) holdsFile(id domain.FileID) bool {
	w.Helper()
	_, err := w.s.File(w.ctx, tenant, id)
	if err != nil {
		w.refused(err, domain.CodeNotFound)
	}
	return err == nil
}

func fileRoundTrip(w *world) {
	content := append([]byte("\x89PNG\x00\xff'\n"), bytes.Repeat([]byte{7}, 100_000)...)
	hash := sha256.Sum256(content)
	file := newFile(string(content))
	got := ok(w.s.SaveFile(w.ctx, tenant, file))(w)
	want := domain.File{ID: file.ID, Name: "é.png", MediaType: domain.MediaPNG, Size: int64(len(content)), SHA256: hex.EncodeToString(hash[:]), CreatedAt: got.CreatedAt}
	if diff := cmp.Diff(want, got); diff != "" || time.Since(got.CreatedAt).Abs() > time.Hour {
		w.Error("as it was saved: ", got.CreatedAt, diff)
	}
	if diff := cmp.Diff(want, ok(w.replicas[1].File(w.ctx, tenant, file.ID))(w)); diff != "" {
		w.Error("as it is read: ", diff)
	}
	c := creationWith(file.ID)
	w.accepted(c)
	info, read, err := w.s.ExecutionFile(w.ctx, c.Execution, file.ID)
	w.must(err)
	if diff := cmp.Diff(want, info); diff != "" || !bytes.Equal(read, content) {
		w.Error("of the execution: ", len(read), diff)
	}
	if diff := cmp.Diff(want, ok(w.s.ExecutionFileInfo(w.ctx, c.Execution, file.ID))(w)); diff != "" {
		w.Error("of the execution, without its bytes: ", diff)
	}
}

func filesOfTenants(w *world) {
	id := w.uploaded("a")
	_, err := w.s.File(w.ctx, foreign, id)
	w.refused(err, domain.CodeNotFound)
	other := w.create()
	_, _, err = w.s.ExecutionFile(w.ctx, other, id)
	w.refused(err, domain.CodeNotFound)
	_, err = w.s.ExecutionFileInfo(w.ctx, other, id)
	w.refused(err, domain.CodeNotFound)

	// In one batch, one tenant's use of its own file does not give it to another tenant.
	own, theirs := creationWith(id), creationWith(id)
	theirs.Create.Execution.Tenant = foreign
	results := ok(w.s.Commit(w.ctx, []store.Change{own, theirs}))(w)
	w.must(results[0].Err)
	w.refused(results[1].Err, domain.CodeInvalid)
	_, _, err = w.s.ExecutionFile(w.ctx, theirs.Execution, id)
	w.refused(err, domain.CodeNotFound)

	// The same bytes of two tenants are apart: removing those of one leaves the other's.
	file := newFile("a")
	ok(w.s.SaveFile(w.ctx, foreign, file))(w)
	w.removeFiles()
	if _, err := w.s.File(w.ctx, foreign, file.ID); domain.CodeOf(err) != domain.CodeNotFound {
		w.Error("an unused file of another tenant: ", err)
	}
	if _, content, err := w.s.ExecutionFile(w.ctx, own.Execution, id); err != nil || string(content) != "a" {
		w.Errorf("%q, %v", content, err)
	}
}

func filesOfPrompts(w *world) {
	id, file, gone := w.create(), w.uploaded("a"), domain.NewFileID(newID())
	c := prompted(id, domain.WhenBusyEnqueue, "k")
	c.Prompt.Prompt.Parts = partsOf([]domain.FileID{file, file})
	want := c.Prompt.Prompt
	neighbour := prompted(w.create(), domain.WhenBusyEnqueue, "")
	neighbour.Prompt.Prompt.Parts = partsOf([]domain.FileID{file, gone})
	created := creationWith(gone)
	results := ok(w.s.Commit(w.ctx, []store.Change{neighbour, c, created}))(w)
	w.refused(results[0].Err, domain.CodeInvalid)
	w.must(results[1].Err)
	w.refused(results[2].Err, domain.CodeInvalid)
	if _, err := w.s.Execution(w.ctx, tenant, created.Execution); domain.CodeOf(err) != domain.CodeNotFound {
		w.Error("a refused creation: ", err)
	}
	if waiting := w.waiting(neighbour.Execution); len(waiting) > 0 {
		w.Error("a refused prompt waits")
	}
	got, _, err := w.s.PromptByKey(w.ctx, id, "k")
	w.must(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Error(diff)
	}
	if diff := cmp.Diff(want, w.controlRequests(id).Prompts[0]); diff != "" {
		w.Error("among the requests: ", diff)
	}
	if _, _, err := w.s.ExecutionFile(w.ctx, id, file); err != nil {
		w.Error(err)
	}
	_, _, err = w.s.ExecutionFile(w.ctx, neighbour.Execution, file)
	w.refused(err, domain.CodeNotFound)
}

func filesOfResults(w *world) {
	id := w.create()
	file := newFile("a")
	file.UsedBy, file.Epoch = id, 1
	file.Room = 1
	ok(w.s.SaveFile(w.ctx, tenant, file))(w)
	if n := w.removeFiles(); n != 0 {
		w.Errorf("%d files are removed", n)
	}
	if _, content, err := w.s.ExecutionFile(w.ctx, id, file.ID); err != nil || string(content) != "a" {
		w.Errorf("%q, %v", content, err)
	}
	more := file
	more.ID = domain.NewFileID(newID())
	_, err := w.s.SaveFile(w.ctx, tenant, more)
	w.refused(err, domain.CodeLimitReached)
	lost := newFile("b")
	lost.UsedBy, lost.Epoch = domain.ExecutionID(newID()), 1
	_, err = w.s.SaveFile(w.ctx, tenant, lost)
	w.refused(err, domain.CodeStale)
	lost.UsedBy = id
	_, err = w.s.SaveFile(w.ctx, foreign, lost)
	w.refused(err, domain.CodeStale)
	lost.Epoch = 2 // of a driver that has lost its lease, or is none
	_, err = w.s.SaveFile(w.ctx, tenant, lost)
	w.refused(err, domain.CodeStale)
	w.deleteAll(id)
	lost.Epoch = 1
	_, err = w.s.SaveFile(w.ctx, tenant, lost)
	w.refused(err, domain.CodeStale)
	if w.holdsFile(lost.ID) {
		w.Error("a file that was refused is kept")
	}
	if w.holdsFile(file.ID) {
		w.Error("the file is not removed with its execution")
	}
}

func filesAreRemoved(w *world) {
	unused, shared, twin := w.uploaded("unused"), w.uploaded("shared"), w.uploaded("shared")
	first, second, third := creationWith(shared), creationWith(shared), creationWith(twin)
	for _, c := range []store.Change{first, second, third} {
		w.accepted(c)
	}
	if n := ok(w.s.RemoveUploads(w.ctx, time.Hour, 100))(w); n != 0 || !w.holdsFile(unused) {
		w.Errorf("%d files are removed before their time", n)
	}
	if n := w.removeFiles(); n != 1 || w.holdsFile(unused) {
		w.Errorf("%d unused files are removed", n)
	}
	w.deleteAll(first.Execution)
	if n := w.removeFiles(); n != 0 {
		w.Errorf("%d files are removed although an execution uses them", n)
	}
	w.deleteAll(second.Execution)
	if w.holdsFile(shared) {
		w.Error("the file is not removed with the last execution")
	}
	if _, content, err := w.s.ExecutionFile(w.ctx, third.Execution, twin); err != nil || string(content) != "shared" {
		w.Errorf("another file with the same bytes: %q, %v", content, err)
	}
	w.deleteAll(third.Execution)
	if w.holdsFile(twin) {
		w.Error("the other file is not removed with its execution")
	}
	for range 3 {
		w.uploaded("a")
	}
	if n := ok(w.s.RemoveUploads(w.ctx, 0, 2))(w); n != 2 {
		w.Errorf("%d files are removed, over the limit of 2", n)
	}
}

func uploadsAreBounded(w *world) {
	file := func(size int) store.NewFile {
		f := newFile(fmt.Sprintf("%0*d", size, size))
		f.Room = 100
		return f
	}
	ok(w.s.SaveFile(w.ctx, tenant, file(60)))(w)
	_, err := w.s.SaveFile(w.ctx, tenant, file(41))
	w.refused(err, domain.CodeTooMany)
	ok(w.s.SaveFile(w.ctx, foreign, file(41)))(w)
	last := file(40)
	ok(w.s.SaveFile(w.ctx, tenant, last))(w)
	w.accepted(creationWith(last.ID))
	ok(w.s.SaveFile(w.ctx, tenant, file(39)))(w)
}

// removedWhileUsed: a prompt that is accepted has its files, and bytes that are sent again while they are removed are there.
func removedWhileUsed(w *world) {
	const rounds, users = 15, 3
	var stop sync.WaitGroup
	done := make(chan struct{})
	for _, s := range w.replicas {
		stop.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.RemoveUploads(w.ctx, 0, 100); err != nil {
					w.Error("removing: ", err)
					return
				}
			}
		})
	}
	var all sync.WaitGroup
	for n := range users {
		all.Go(func() { useFiles(w.T, w, w.replicas[n%2], rounds) })
	}
	all.Wait()
	close(done)
	stop.Wait()
}

func useFiles(t *testing.T, w *world, s *store.Store, rounds int) {
	for range rounds {
		file := newFile("the same")
		if _, err := s.SaveFile(w.ctx, tenant, file); err != nil {
			t.Error("saving: ", err)
			return
		}
		c := creationWith(file.ID)
		results, err := s.Commit(w.ctx, []store.Change{c})
		if err != nil {
			t.Error("using: ", err)
			return
		}
		_, content, err := s.ExecutionFile(w.ctx, c.Execution, file.ID)
		switch {
		case domain.CodeOf(results[0].Err) == domain.CodeInvalid: // it was removed before
		case results[0].Err != nil:
			t.Error("using: ", results[0].Err)
		case err != nil || string(content) != "the same":
			t.Errorf("an execution has lost its file: %q, %v", content, err)
		}
	}
}

// filesInPortions: an execution with many files is removed in portions, and nothing of it is left.
func filesInPortions(w *world) {
	var files []domain.FileID
	for n := range 45 {
		files = append(files, w.uploaded(fmt.Sprint("file ", n)))
	}
	kept := creationWith(files[7])
	c := creationWith(files...)
	w.accepted(c)
	w.accepted(kept)
	w.accepted(ending(c.Execution, 1))
	w.must(w.s.Delete(w.ctx, tenant, c.Execution, record("execution.deleted")))
	if portions := w.removed(c.Execution); portions < 3 {
		w.Errorf("all is removed in %d portions", portions)
	}
	for n, id := range files {
		if held := w.holdsFile(id); held != (n == 7) {
			w.Errorf("file %d is held: %t", n, held)
		}
	}
}

// lastUsesAtOnce: of two executions that are removed at once, the last one takes their file along.
func lastUsesAtOnce(w *world) {
	for range 10 {
		file := w.uploaded("a")
		var ids []domain.ExecutionID
		for range 2 {
			c := creationWith(file)
			w.accepted(c)
			w.accepted(ending(c.Execution, 1))
			w.must(w.s.Delete(w.ctx, tenant, c.Execution, record("execution.deleted")))
			ids = append(ids, c.Execution)
		}
		var all sync.WaitGroup
		for n, id := range ids {
			all.Go(func() {
				for done := store.RemovalPortion; done != store.RemovalComplete; {
					var err error
					if done, err = w.replicas[n].Remove(w.ctx, id); err != nil {
						w.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if w.holdsFile(file) {
			w.Error("the file of two executions is left")
		}
	}
}

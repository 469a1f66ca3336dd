package files

import (
	"context"
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// shelf is everything that a service asks, in memory.
type shelf struct {
	Store
	fstest.MapFS

	mu             sync.Mutex
	verdict        domain.Verdict
	asked          []approvals.Evaluation
	opened, closed int
	slow           chan struct{} // opening waits for it
	saved          []store.NewFile
}

func (s *shelf) Evaluate(_ context.Context, e approvals.Evaluation) (approvals.Judgement, domain.ToolCall, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, e)
	return approvals.Judgement{Verdict: s.verdict, Reason: "Because."}, domain.ToolCall{}, nil
}

func (s *shelf) OpenFiles(context.Context, domain.Request) (Folder, error) {
	if s.slow != nil {
		<-s.slow
	}
	s.opened++
	return folder{s}, nil
}

func (s *shelf) SaveFile(_ context.Context, _ domain.TenantID, file store.NewFile) (domain.File, error) {
	s.saved = append(s.saved, file)
	return domain.File{ID: file.ID, Name: file.Name, MediaType: file.MediaType, Size: int64(len(file.Content))}, nil
}

func (s *shelf) MaskString(text string) string { return text }

type folder struct{ of *shelf }

func (f folder) Open(ctx context.Context, path string) (fs.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.of.MapFS.Open(path)
}

func (f folder) Close() { f.of.closed++ }

func paths(names ...string) (parts []domain.PromptPart) {
	for _, name := range names {
		parts = append(parts, domain.PromptPart{Type: domain.PartFile, Path: name})
	}
	return parts
}

var notes = fstest.MapFS{"a.md": {Data: []byte("# A")}, "b.txt": {Data: []byte("b")}, "d/c.csv": {Data: []byte("c,d")}}

func TestPathsAreReadInOneFolder(t *testing.T) {
	s := &shelf{MapFS: notes, verdict: domain.Allow}
	service := NewService(s, s, s, s)
	whose := For{Tenant: "t", Execution: "x", Pointer: "/prompt", Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "agent"}, WorkingDirectory: "/w", ClientTools: []domain.ClientTool{{Name: "read"}}}}
	got, err := service.Resolve(t.Context(), whose, paths("a.md", "b.txt", "d/c.csv"))
	if err != nil || s.opened != 1 || s.closed != 1 || len(s.saved) != 3 {
		t.Fatalf("%v; opened %d times, closed %d times, %d files", err, s.opened, s.closed, len(s.saved))
	}
	for i, want := range []string{domain.MediaMarkdown, domain.MediaPlain, domain.MediaCSV} {
		if got[i].MediaType != want || got[i].FileID != s.saved[i].ID || got[i].Path == "" {
			t.Errorf("part %d: %+v", i, got[i])
		}
	}
	asked := s.asked[2]
	if asked.Tool != "read" || string(asked.Arguments) != `{"path":"d/c.csv"}` || asked.Execution != "x" || asked.Tenant != "t" ||
		asked.Request.Source.Type != domain.SourceInternal || asked.Request.ClientTools != nil || asked.Request.WorkingDirectory != "/w" {
		t.Errorf("the policy was asked %+v", asked)
	}

	_, err = service.Resolve(t.Context(), whose, paths("a.md", "gone.md"))
	if pointer := pointerOf(err); pointer != "/prompt/1/path" || s.opened != 2 || s.closed != 2 {
		t.Errorf("%s: %v; opened %d times, closed %d times", pointer, err, s.opened, s.closed)
	}
	for _, verdict := range []domain.Verdict{domain.Ask, domain.Deny} {
		s.verdict = verdict
		if _, err := service.Resolve(t.Context(), whose, paths("a.md")); pointerOf(err) != "/prompt/0/path" || s.opened != 2 {
			t.Errorf("%s: %v, opened %d times", verdict, err, s.opened)
		}
	}
}

func pointerOf(err error) string {
	if coded, is := err.(*domain.Error); is && coded.Code == domain.CodeInvalid && len(coded.Details) == 1 { //nolint:errorlint // it comes as it is
		return coded.Details[0].Pointer
	}
	return ""
}

// TestReadersAreBounded: a folder that does not answer holds some requests and no more.
func TestReadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{MapFS: notes, verdict: domain.Allow, slow: make(chan struct{})}
		service := NewService(s, s, s, s)
		done := make(chan error)
		for range readingAtOnce {
			go func() {
				_, err := service.Resolve(t.Context(), For{Tenant: "t", Pointer: "/prompt"}, paths("a.md"))
				done <- err
			}()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := service.Resolve(t.Context(), For{Tenant: "u"}, paths("a.md")); domain.CodeOf(err) != domain.CodeOverloaded || time.Since(began) != waitForRoom {
			t.Errorf("one more: %v after %s", err, time.Since(began))
		}
		time.Sleep(readWithin)
		for range readingAtOnce { // one at a time: the shelf counts without a lock
			s.slow <- struct{}{}
			if err := <-done; pointerOf(err) != "/prompt/0/path" {
				t.Errorf("who was held for too long: %v", err)
			}
		}
		close(s.slow)
		if _, err := service.Resolve(t.Context(), For{Tenant: "u"}, paths("a.md")); err != nil || s.closed != readingAtOnce+1 {
			t.Errorf("afterwards: %v, closed %d times", err, s.closed)
		}
	})
}

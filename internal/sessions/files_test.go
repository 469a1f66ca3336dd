package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/sessions/sessionstest"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

const png = "\x89PNG\r\n\x1a\nthe picture"

// stored is a part of a prompt whose file is stored.
func (w *world) stored(name, content string) domain.PromptPart {
	w.t.Helper()
	file, err := w.store.SaveFile(context.Background(), tenant, store.NewFile{
		ID: domain.NewFileID(uuid.NewString()), Name: name, MediaType: domain.MediaPNG, Content: []byte(content), Room: domain.MaxFileSize})
	if err != nil {
		w.t.Fatal(err)
	}
	return domain.PromptPart{Type: domain.PartImage, FileID: file.ID, Name: name, MediaType: file.MediaType, Size: file.Size}
}

func with(parts ...domain.PromptPart) func(*domain.Request) {
	return func(r *domain.Request) { r.Prompt, r.Parts = domain.PartsText(parts), parts }
}

func textPart(text string) domain.PromptPart {
	return domain.PromptPart{Type: domain.PartText, Text: text}
}

// seen is what an agent has seen of the files of its prompts.
type seen struct {
	mu      sync.Mutex
	prompts []domain.Prompt
	files   []string // of each turn, the files of the whole history
}

func (s *seen) look(ctx context.Context, t *sessionstest.Turn) error {
	contents := ""
	for _, message := range t.Prompt.History {
		for _, part := range domain.FileParts(message.Parts) {
			file, content, err := t.Host.ReadFile(ctx, part.FileID)
			if err != nil {
				return err
			}
			contents += fmt.Sprintf("%s: %s=%s;", message.Role, file.Name, content[len(content)-3:])
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts, s.files = append(s.prompts, t.Prompt), append(s.files, contents)
	return nil
}

// TestFilesReachTheAgent: the files of the first prompt, of further ones and of tool results are in the history of each later turn, also after the server was killed.
func TestFilesReachTheAgent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		var before, after seen
		script := func(s *seen) sessionstest.Script {
			return func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				if err := s.look(ctx, t); err != nil {
					return "", err
				}
				if t.Prompt.Turn == 1 {
					call := sessionstest.Bash("c1", "ls")
					if err := t.Want("m1", call); err != nil {
						return "", err
					}
					if _, err := t.Host.Authorize(ctx, call); err != nil {
						return "", err
					}
					drawn, err := t.Host.SaveFile(ctx, "plot.png", []byte(png+" 3/3"))
					if err != nil {
						return "", err
					}
					part, err := domain.PromptPart{Type: domain.PartImage}.Stored("", drawn)
					if err != nil {
						return "", err
					}
					audio := domain.PromptPart{Type: domain.PartFile, FileID: drawn.ID, Name: "a.wav", MediaType: domain.MediaWAV} // models are not sent it
					if err := t.Host.Emit(ctx, domain.ToolCallCompleted{ToolCallID: "c1", Outcome: domain.OutcomeSucceeded, Output: "drawn", Files: []domain.PromptPart{part, audio}}); err != nil {
						return "", err
					}
				}
				return domain.StopEndTurn, t.Say(fmt.Sprint("m", t.Prompt.Turn+1), "I see")
			}
		}
		first := newWorld(t, s, script(&before))
		photo := first.stored("photo.png", png+" 1/3")
		id := first.start(with(textPart("What is"), photo, textPart("this?")), func(r *domain.Request) {
			r.KeepOpen = true
			r.Capabilities.Execute = domain.Allow
		})
		first.until(id, domain.TurnEndedType)
		first.killed()

		second := newWorld(t, s, script(&after))
		scan := second.stored("scan.png", png+" 2/3")
		accepted, _, err := second.manager.Prompt(context.Background(), tenant, id, domain.QueuedPrompt{Parts: []domain.PromptPart{scan}}, alice, nil)
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		second.follow(id, func(f events.Frame) bool {
			if f.Type == domain.TurnEndedType {
				ends++
			}
			return ends == 2
		})

		want := domain.Prompt{Turn: 1, Text: "What is\n\nthis?", Parts: []domain.PromptPart{textPart("What is"), photo, textPart("this?")}}
		if got := before.prompts[0]; got.Text != want.Text || !cmp.Equal(got.Parts, want.Parts) {
			t.Errorf("the first prompt is %q, %v", got.Text, got.Parts)
		}
		if got := after.prompts[0]; got.Text != "" || !cmp.Equal(got.Parts, []domain.PromptPart{scan}) {
			t.Errorf("the further prompt is %q, %v", got.Text, got.Parts)
		}
		if diff := cmp.Diff([]string{"user: photo.png=1/3;", "user: photo.png=1/3;tool: plot.png=3/3;user: scan.png=2/3;"}, append(before.files, after.files...)); diff != "" {
			t.Error("in the history: ", diff)
		}
		started := payloads[domain.TurnStarted](t, second.events(id))[1]
		queued := payloads[domain.PromptQueued](t, second.events(id))[0]
		if !cmp.Equal(started.Parts, accepted.Parts) || !cmp.Equal(queued.Parts, accepted.Parts) {
			t.Errorf("in the log: %v, %v", started.Parts, queued.Parts)
		}
	})
}

// TestFilesOfOthers: an agent reads the files of its own execution, and stores nothing but pictures and audio.
func TestFilesOfOthers(t *testing.T) {
	var failures []domain.Code
	var others domain.PromptPart
	w := newWorld(t, storetest.SQLite(t), func(ctx context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
		_, _, err := t.Host.ReadFile(ctx, others.FileID)
		failures = append(failures, domain.CodeOf(err))
		_, err = t.Host.SaveFile(ctx, "a.png", []byte("<svg/>"))
		failures = append(failures, domain.CodeOf(err))
		_, err = t.Host.SaveFile(ctx, "a.txt", []byte("text"))
		failures = append(failures, domain.CodeOf(err))
		_, err = t.Host.SaveFile(ctx, "a.png", append([]byte(png), make([]byte, domain.MaxFileSize)...))
		failures = append(failures, domain.CodeOf(err))
		audio, err := t.Host.SaveFile(ctx, "a.png", []byte("RIFF0000WAVE"))
		if _, content, _ := t.Host.ReadFile(ctx, audio.ID); err != nil || audio.MediaType != domain.MediaWAV || string(content) != "RIFF0000WAVE" {
			failures = append(failures, domain.CodeInternal)
		}
		return domain.StopEndTurn, nil
	})
	others = w.stored("a.png", png)
	w.ended(w.start())
	want := []domain.Code{domain.CodeNotFound, domain.CodeUnsupportedMedia, domain.CodeUnsupportedMedia, domain.CodePayloadTooLarge}
	if diff := cmp.Diff(want, failures); diff != "" {
		t.Error(diff)
	}
}

// TestFilesThatAreGone: a prompt whose file was removed after it was checked starts nothing.
func TestFilesThatAreGone(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t), func(context.Context, *sessionstest.Turn) (domain.StopReason, error) { return domain.StopEndTurn, nil })
	gone := domain.PromptPart{Type: domain.PartImage, FileID: domain.NewFileID(uuid.NewString())}
	_, _, err := w.manager.Start(context.Background(), tenant, alice, request(with(gone)), nil)
	wantCode(t, "a new execution", err, domain.CodeInvalid)
	page, err := w.store.Executions(context.Background(), tenant, store.ExecutionFilter{})
	if err != nil || len(page.Items) > 0 || w.manager.Live() > 0 {
		t.Errorf("%d executions, %d live, %v", len(page.Items), w.manager.Live(), err)
	}
	id := w.start(func(r *domain.Request) { r.KeepOpen = true })
	_, _, err = w.manager.Prompt(context.Background(), tenant, id, domain.QueuedPrompt{Parts: []domain.PromptPart{gone}}, alice, nil)
	wantCode(t, "a further prompt", err, domain.CodeInvalid)
}

// TestFilesGoAlongWithAContinuedTurn: an agent that may not have the picture of its prompt gets it again, and one that has it does not.
func TestFilesGoAlongWithAContinuedTurn(t *testing.T) {
	unheard := func(context.Context, *sessionstest.Turn) {}
	heard := func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Host.Emit(ctx, domain.MessageDelta{MessageID: "m1", Text: "half"})
	}
	running := func(ctx context.Context, t *sessionstest.Turn) {
		_ = t.Want("m1", sessionstest.Bash("c1", "ls"))
		_ = t.Host.Emit(ctx, domain.ToolCallStarted{ToolCallID: "c1", AllowedBy: "agent"})
	}
	for name, test := range map[string]struct {
		begin func(ctx context.Context, t *sessionstest.Turn)
		seen  domain.EventType
		fresh bool
		want  []domain.PartType
	}{
		"it may have heard nothing": {begin: unheard, seen: domain.TurnStartedType, want: []domain.PartType{domain.PartText, domain.PartImage}},
		"it has heard":              {begin: heard, seen: domain.MessageDeltaType},
		"in a fresh session":        {running, domain.ToolCallStartedType, true, []domain.PartType{domain.PartText, domain.PartImage, domain.PartText}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.SQLite(t)
			w, _ := abroad(t, s, hung(test.begin))
			photo := w.stored("photo.png", png)
			id := w.start(outside, with(textPart("What is"), photo, textPart("this?")))
			w.until(id, test.seen)
			w.killed()
			prompts := make(chan domain.Prompt, 1)
			w, _ = abroad(t, s, func(_ context.Context, t *sessionstest.Turn) (domain.StopReason, error) {
				prompts <- t.Prompt
				return domain.StopEndTurn, nil
			})
			if test.fresh {
				w.becomes(id, domain.StatusInterrupted, 1)
				if _, err := w.manager.Resume(context.Background(), tenant, id, domain.ResumeFresh, alice); err != nil {
					t.Fatal(err)
				}
			}
			w.ended(id)
			prompt := <-prompts
			var got []domain.PartType
			for _, part := range prompt.Parts {
				got = append(got, part.Type)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the parts of %q: %s", prompt.Text, diff)
			}
			if len(got) > 0 && domain.PartsText(prompt.Parts) != prompt.Text {
				t.Errorf("the text is %q, and that of the parts is %q", prompt.Text, domain.PartsText(prompt.Parts))
			}
		})
	}
}

package registry

import (
	"context"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

func filePart(mediaType string) domain.PromptPart {
	if domain.IsPicture(mediaType) {
		return domain.PromptPart{Type: domain.PartImage, MediaType: mediaType}
	}
	return domain.PromptPart{Type: domain.PartFile, MediaType: mediaType}
}

// TestFilesThatAnAgentTakes: it is started once to say so, and not for texts, which every agent takes. A refusal does not outlive what it is made of.
func TestFilesThatAnAgentTakes(t *testing.T) {
	p := newProbed(t, AgentConfig{}, "-takes", "image")
	check := func(mediaTypes ...string) error {
		parts := []domain.PromptPart{{Type: domain.PartText, Text: "Look"}}
		for _, mediaType := range mediaTypes {
			parts = append(parts, filePart(mediaType))
		}
		return p.registry.CheckParts(t.Context(), domain.Source{Type: domain.SourceACP, Command: "mine"}, "/prompt", parts)
	}
	if err := check(domain.MediaCSV, domain.MediaPlain); err != nil || p.started() != 0 {
		t.Errorf("texts: %v, started %d times", err, p.started())
	}
	if err := check(domain.MediaCSV, domain.MediaWebP); err != nil || p.started() != 1 {
		t.Errorf("a picture: %v, started %d times", err, p.started())
	}
	refused := problem(t, check(domain.MediaPNG, domain.MediaPDF))
	if refused.Code != domain.CodeInvalid || refused.Details[0].Pointer != "/prompt/2" || !strings.Contains(refused.Message, "mine has not declared that it takes files of the type application/pdf; it takes image/png") || p.started() != 1 {
		t.Errorf("a PDF: %v at %v, started %d times", refused, refused.Details, p.started())
	}
	known, _ := p.registry.offers["mine"].last(identify(p.program))
	p.registry.offers["mine"].learn(identify(p.program), known, -time.Second) // they are old
	if err := check(domain.MediaPNG); err != nil || p.started() != 1 {
		t.Errorf("a picture that it took a while ago: %v, started %d times", err, p.started())
	}
	if err := check(domain.MediaPDF); domain.CodeOf(err) != domain.CodeInvalid || p.started() != 2 {
		t.Errorf("a PDF that it did not take a while ago: %v, started %d times", err, p.started())
	}
	p.update("-takes", "image,embeddedContext")
	if err := check(domain.MediaPDF); err != nil || p.started() != 3 {
		t.Errorf("a PDF for another program: %v, started %d times", err, p.started())
	}
	if err := p.registry.CheckParts(t.Context(), domain.Source{Command: "elsewhere"}, "/prompt", []domain.PromptPart{filePart(domain.MediaPNG)}); err != nil {
		t.Errorf("an agent of another server: %v", err)
	}
}

// TestFilesForAnAgentThatDoesNotStart: nothing begins, and the message says why.
func TestFilesForAnAgentThatDoesNotStart(t *testing.T) {
	p := newProbed(t, AgentConfig{}, "-crash", "initialize")
	check := func(ctx context.Context) error {
		return p.registry.CheckParts(ctx, domain.Source{Type: domain.SourceACP, Command: "mine"}, "/prompt", []domain.PromptPart{filePart(domain.MediaPNG)})
	}
	if e := problem(t, check(t.Context())); e.Code != domain.CodeAgentUnavailable || e.Details[0].Pointer != "/prompt" || !strings.Contains(e.Message, "The agent mine cannot be started") {
		t.Errorf("%v at %v", e, e.Details)
	}
	p.update("-hang", "initialize")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := check(ctx); err != context.DeadlineExceeded { //nolint:errorlint // it comes as it is
		t.Errorf("nobody waits any more: %v", err)
	}
}

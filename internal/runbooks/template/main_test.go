package template

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/domain"
)

// tenant renders where it does not matter who does.
const tenant domain.TenantID = "a"

// TestMain serves the children, as main does.
func TestMain(m *testing.M) {
	Intercept()
	goleak.VerifyTestMain(m)
}

// newRenderer has no limit by the clock that a busy machine reaches: the limit of processor time is the one that counts.
func newRenderer(t *testing.T) *Renderer {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewRenderer(Config{Executable: executable, Timeout: time.Hour, Patience: time.Hour})
}

// render renders one template of the syntax Jinja.
func render(t *testing.T, r *Renderer, source string, variables string) (string, error) {
	t.Helper()
	rendered, err := r.Render(t.Context(), tenant, json.RawMessage(variables), Template{Name: "/prompt", Source: source})
	if err != nil {
		return "", err
	}
	return rendered[0].Text, nil
}

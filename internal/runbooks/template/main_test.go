package template

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/domain"
)

// tenant renders where it does not matter who does.
const tenant domain.TenantID = "a"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// render renders one template of the syntax Jinja.
func render(t *testing.T, r *Renderer, source string, variables string) (string, error) {
	t.Helper()
	rendered, err := r.Render(t.Context(), tenant, json.RawMessage(variables), Template{Name: "/prompt", Source: source})
	if err != nil {
		return "", err
	}
	return rendered[0].Text, nil
}

package template

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"signoff/internal/domain"
)

// TestMemoryIsShared fills the pool: a tenant gets no more than half of it, small templates need none of it, and what
// ends gives back what it had.
func TestMemoryIsShared(t *testing.T) {
	r := NewRenderer()
	r.memory = newPool(32 << 20)
	large := Template{Name: "/prompt", Source: `{{ ('x' * 9000000)|length }}`}
	for _, tenant := range []domain.TenantID{"b", "c"} {
		busy := r.memory.open(tenant)
		defer busy.close()
		for busy.borrow(1 << 20) {
		}
		if busy.bytes != 16<<20 {
			t.Errorf("%s has %d bytes of 32 MiB", tenant, busy.bytes)
		}
		if _, err := r.Render(t.Context(), tenant, nil, large); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("beyond the half of a tenant: %v", err)
		}
		rendered, err := r.Render(t.Context(), tenant, nil, Template{Source: `{{ 1 + 1 }}`})
		if err != nil || rendered[0].Text != "2" {
			t.Errorf("a small template beside large ones: %+v, %v", rendered, err)
		}
		rendered, err = r.Render(t.Context(), tenant+"'", nil, large)
		if tenant == "b" && (err != nil || rendered[0].Text != "9000000") {
			t.Errorf("another tenant: %+v, %v", rendered, err)
		}
		if tenant == "c" && domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("where all is lent: %v", err)
		}
	}
}

// TestMemoryComesBack renders what ends well, what fails and what nobody waits for, at once.
func TestMemoryComesBack(t *testing.T) {
	r := NewRenderer()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var all sync.WaitGroup
	for range 8 {
		for source, ctx := range map[string]context.Context{
			`{{ ('x' * 2000000)|length }}`: t.Context(), `{{ ('x' * 2000000)|length }}{{ nope }}`: t.Context(), `{{ ('x' * 2000000)|length }} `: ended,
		} {
			all.Go(func() { _, _ = r.Render(ctx, tenant, nil, Template{Source: source}) })
		}
	}
	all.Wait()
	if r.memory.lent != 0 || len(r.memory.tenants) != 0 {
		t.Errorf("%d bytes are still lent, to %v", r.memory.lent, r.memory.tenants)
	}
}

func TestAnEndedRequestIsNotBlamedOnItsTemplate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewRenderer().Render(ctx, tenant, nil, Template{Name: "/prompt", Source: `{% for a in range(9999) %}{% for b in 'xxxxxxxx' %}{% endfor %}{% endfor %}`})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Error(err)
	}
}

// TestTemplatesShareTheirBudget has a template that is within the limit, and two that are not.
func TestTemplatesShareTheirBudget(t *testing.T) {
	half := Template{Name: "/prompt", Source: `{{ ('x' * 50000000)|length }}`}
	if _, err := NewRenderer().Render(t.Context(), tenant, nil, half); err != nil {
		t.Error(err)
	}
	second := half
	second.Name = "/systemPrompt"
	third := Template{Name: "/instructions", Source: half.Source}
	_, err := NewRenderer().Render(t.Context(), tenant, nil, half, second, third)
	failure := domain.FailureOf(err)
	if failure.Code != domain.CodeInvalid || !strings.Contains(failure.Message, "too much memory or time") {
		t.Errorf("%+v", failure)
	}
}

// TestLargeVariables has nearly as many as are allowed, of the kind that outputs are.
func TestLargeVariables(t *testing.T) {
	rows := strings.Repeat(`{"id": 1, "state": "running", "load": 0.25},`, 100_000)
	rendered, err := NewRenderer().Render(t.Context(), tenant, json.RawMessage(`{"rows": [`+rows+`{}], "text": "`+strings.Repeat("x", 3<<20)+`"}`),
		Template{Source: `{{ rows|length }} {{ text|length }} {{ rows|selectattr('load')|list|length }}`})
	if err != nil || rendered[0].Text != "100001 3145728 100000" {
		t.Errorf("%.80v, %v", rendered, err)
	}
}

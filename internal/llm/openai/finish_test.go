package openai

import (
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

// TestFinishReasons are those of all vendors that the dialect has.
func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]struct {
		finish provider.Finish
		code   domain.Code
		once   bool
		says   string
	}{
		"stop": {}, "tool_calls": {}, "of_the_future": {},
		"length": {finish: provider.FinishLength}, "model_length": {finish: provider.FinishLength}, "MAX_TOKENS": {finish: provider.FinishLength},
		"content_filter":                  {code: domain.CodeContentFiltered, says: `answer of model "suite". Other`},
		"content_filter: RECITATION":      {code: domain.CodeContentFiltered, says: "(RECITATION)"},
		"PROHIBITED_CONTENT":              {code: domain.CodeContentFiltered, says: "(PROHIBITED_CONTENT)"},
		"sensitive":                       {code: domain.CodeContentFiltered, says: `answer of model "suite". Other`},
		"insufficient_system_resource":    {code: domain.CodeModelStreamBroken},
		"network_error":                   {code: domain.CodeModelStreamBroken},
		"MALFORMED_FUNCTION_CALL":         {code: domain.CodeModelFailed, once: true},
		"function_call_filter: MALFORMED": {code: domain.CodeModelFailed, once: true, says: "could not read the tool call"},
	} {
		body := strings.ReplaceAll(wire(providertest.Saying("a"), providertest.Stopping("stop")), `"stop"`, providertest.InJSON(reason))
		got, err := dialect().Open(providertest.Stream(body)).Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
		if want.code == "" {
			if err != nil || got.Finish != want.finish {
				t.Errorf("%s: %+v, %v", reason, got, err)
			}
			continue
		}
		if failed := provider.ErrorOf(err); domain.CodeOf(err) != want.code || failed.Once != want.once || !strings.Contains(failed.Shown.Message, want.says) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestFilterCategoriesAreKeptOnce: a stream that names them in each chunk grows nothing.
func TestFilterCategoriesAreKeptOnce(t *testing.T) {
	chunk := `data: {"choices":[{"index":0,"delta":{},"content_filter_results":{"violence":{"filtered":true,"severity":"high"}}}]}` + "\n\n"
	body := chunk + chunk + wire(providertest.Stopping("filter"))
	_, err := dialect().Open(providertest.Stream(body)).Stream(t.Context(), providertest.SmallRequest(), &providertest.Ear{})
	if domain.CodeOf(err) != domain.CodeContentFiltered || strings.Count(err.Error(), "violence high") != 1 {
		t.Error(err)
	}
}

package api_test

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"signoff/api"
)

type document struct {
	Paths      map[string]map[string]any `json:"paths"`
	Components map[string]map[string]any `json:"components"`
	Security   any                       `json:"security"`
}

func read(t *testing.T, text []byte) (d document) {
	t.Helper()
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestRequestsAreOfTheDocument holds what was kept against the whole. What was left out by mistake and is referred to
// keeps a server from starting, so other tests see that.
func TestRequestsAreOfTheDocument(t *testing.T) {
	plain, err := yaml.YAMLToJSON(api.Document)
	if err != nil {
		t.Fatal(err)
	}
	whole, part := read(t, plain), read(t, api.Requests)
	for _, operations := range whole.Paths {
		for _, one := range operations {
			if operation, is := one.(map[string]any); is {
				for _, about := range []string{"responses", "summary", "description", "tags"} {
					delete(operation, about)
				}
			}
		}
	}
	for kind, all := range whole.Components {
		for name := range all {
			if part.Components[kind][name] == nil {
				delete(all, name)
			}
		}
		if len(all) == 0 {
			delete(whole.Components, kind)
		}
	}
	if diff := cmp.Diff(whole, part); diff != "" {
		t.Errorf("api/requests.gen.json is not what api/openapi.yaml says. Type: make generate\n%s", diff)
	}
}

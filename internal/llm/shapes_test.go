package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/llm/provider/providertest"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// shapes are the requests of one vendor as its pages have them; see testdata/requests/README.md.
type shapes struct {
	Sources        []string
	Prompt         []string
	Turn, Takeover any
}

// TestRequestsHaveTheirShapes: what we send is what the vendors' pages say, field by field, with pictures, a changed call and another model's answers in it.
func TestRequestsHaveTheirShapes(t *testing.T) {
	for i, mock := range mocks {
		t.Run(mock.dialect.Name, func(t *testing.T) {
			t.Parallel()
			shape := readShapes(t, mock.dialect.Name)
			if len(shape.Sources) == 0 {
				t.Error("the shapes have no source")
			}
			for name, test := range map[string]struct {
				shape any
				away  [2][]int // requests that the vendor, and the other one, turn away
				body  int      // of those that the vendor has read
			}{
				"turn":     {shape.Turn, [2][]int{{2}, nil}, 2},
				"takeover": {shape.Takeover, [2][]int{nil, {2}}, 0},
			} {
				bodies := shapedTalk(t, i, shape.Prompt, test.away, name == "takeover")
				if len(bodies) <= test.body {
					t.Errorf("%s: the vendor has read %d requests", name, len(bodies))
					continue
				}
				var sent any
				providertest.Decode(t, bodies[test.body], &sent)
				for _, difference := range (&comparison{known: map[string]string{}}).of("", test.shape, sent) {
					t.Errorf("%s%s", name, difference)
				}
			}
		})
	}
}

func readShapes(t *testing.T, name string) (read shapes) {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", "requests", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	providertest.Decode(t, document, &read)
	return read
}

// shapedTalk has two turns with the vendor and another one beside it, and returns what the vendor has read. With other, the other one is asked first.
func shapedTalk(t *testing.T, at int, prompt []string, away [2][]int, other bool) (bodies [][]byte) {
	t.Helper()
	beside := slices.IndexFunc(mocks, func(m mocked) bool { return m.dialect.Name == "glm" })
	if at == beside {
		beside--
	}
	vendors := byHost{}
	config := llm.Config{Default: "a", Models: map[string]llm.Model{}, Transport: vendors, Logger: slog.New(slog.DiscardHandler)}
	for k, name := range []string{"a", "b"} {
		mock := mocks[[]int{at, beside}[k]]
		host := name + ".test"
		if mock.dialect.Name == "openai" {
			host = "api.openai.com" // by which its provider knows it
		}
		vendors[host] = &providertest.Mock{Dialect: mock.dialect, Model: "m-" + name, Away: func(request int) bool { return slices.Contains(away[k], request) }}
		config.Models[name] = llm.Model{Provider: mock.provider, Model: "m-" + name, BaseURL: "https://" + host + "/v1", APIKey: "k", ThinkingTokens: mock.thinking}
	}
	wanted := execution()
	wanted.Request.Source.Model, wanted.Request.Source.Fallbacks = "a", []string{"b"}
	if other {
		wanted.Request.Source.Model, wanted.Request.Source.Fallbacks = "b", []string{"a"}
	}
	stored := &hosttest.Host{}
	history := []domain.Message{userSaying(t, stored, prompt)}
	edited := false
	for range 2 {
		host := &hosttest.Host{Stored: stored.Stored, Command: prints("ok\n")}
		host.Grant = func(ctx context.Context, call domain.ToolCall) (domain.Grant, error) {
			if edited || other {
				return domain.Grant{Allowed: true, Arguments: call.Arguments}, nil
			}
			edited = true
			by, changed := &domain.Actor{Name: "alice"}, json.RawMessage(`{"command":"edited"}`)
			started := domain.ToolCallStarted{ToolCallID: call.ID, Arguments: changed, EditedBy: by}
			return domain.Grant{Allowed: true, Approved: true, Arguments: changed, EditedBy: by}, host.Emit(ctx, started)
		}
		if _, err := open(t, config, wanted, tools.Bash{}).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history}); err != nil {
			t.Fatal(err)
		}
		history = append(history, host.Fold(t).Messages...)
		history = append(history, domain.Message{Role: domain.RoleUser, Text: "And now?"})
	}
	for host, vendor := range vendors {
		if refusals := vendor.Refusals(); len(refusals) > 0 {
			t.Errorf("%s refused: %s", host, strings.Join(refusals, "; "))
		}
		if vendor.Model == "m-a" {
			bodies = vendor.Bodies()
		}
	}
	return bodies
}

// userSaying is what the user says at first.
func userSaying(t *testing.T, host *hosttest.Host, kinds []string) domain.Message {
	t.Helper()
	var parts []domain.PromptPart
	for _, kind := range kinds {
		part, stored := domain.PromptPart{Type: domain.PartText, Text: "Which host is it?"}, domain.File{}
		switch kind {
		case "image":
			part, stored = domain.PromptPart{Type: domain.PartImage}, host.Store("photo.png", domain.MediaPNG, []byte("picture"))
		case "pdf":
			part, stored = domain.PromptPart{Type: domain.PartFile}, host.Store("manual.pdf", domain.MediaPDF, []byte("manual"))
		}
		if part.IsFile() {
			var err error
			if part, err = part.Stored("", stored); err != nil {
				t.Fatal(err)
			}
		}
		parts = append(parts, part)
	}
	return domain.Message{Role: domain.RoleUser, Text: domain.PartsText(parts), Parts: parts}
}

// comparison is of one body with its shape.
type comparison struct{ known map[string]string } // texts by the names that stand for them

// of returns where a body differs from its shape.
func (c *comparison) of(path string, shape, sent any) (differences []string) {
	switch want := shape.(type) {
	case map[string]any:
		got, isObject := sent.(map[string]any)
		if !isObject {
			return []string{fmt.Sprintf("%s: %v is no object", path, sent)}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if value, has := got[name]; has {
				differences = append(differences, c.of(path+"."+name, want[name], value)...)
			} else {
				differences = append(differences, path+"."+name+" is missing")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, has := want[name]; !has {
				differences = append(differences, fmt.Sprintf("%s.%s is not in the shape: %v", path, name, got[name]))
			}
		}
		return differences
	case []any:
		got, isList := sent.([]any)
		if !isList || len(got) != len(want) {
			return []string{fmt.Sprintf("%s: %v is no list of %d", path, sent, len(want))}
		}
		for i := range want {
			differences = append(differences, c.of(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])...)
		}
		return differences
	case string:
		if !c.text(want, sent) {
			return []string{fmt.Sprintf("%s: got %v, want %s", path, sent, want)}
		}
		return nil
	}
	if shape != sent {
		return []string{fmt.Sprintf("%s: got %v, want %v", path, sent, shape)}
	}
	return nil
}

var named = regexp.MustCompile(`^<[a-z][a-z 0-9.]*>$`)

// text reports whether a value is what the shape has at its place.
func (c *comparison) text(want string, sent any) bool {
	got, isText := sent.(string)
	switch number, isNumber := sent.(float64); {
	case want == "<integer>":
		return isNumber && number == math.Trunc(number)
	case want == "<object>":
		_, isObject := sent.(map[string]any)
		return isObject
	case isText && named.MatchString(want):
		if c.known[want] == "" {
			c.known[want] = got
		}
		return got != "" && c.known[want] == got
	case isText && strings.HasPrefix(want, "{"):
		var one, other any
		return json.Unmarshal([]byte(want), &one) == nil && json.Unmarshal([]byte(got), &other) == nil && c.of("", one, other) == nil
	}
	return isText && got == want
}

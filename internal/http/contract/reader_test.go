package contract

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// operationOf reads the one operation of a small document. YAML in flow style keeps the cases short.
func operationOf(t *testing.T, described string) *Operation {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData([]byte(
		`{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/things/{id}":{"post":` + described + `}}}`))
	if err != nil {
		t.Fatal(err)
	}
	path := document.Paths.Value("/things/{id}")
	operation, err := newOperation(path, path.Post)
	if err != nil {
		t.Fatal(err)
	}
	return operation
}

const everyPart = `{"operationId":"change","security":[],"parameters":[
	{"name":"id","in":"path","required":true,"schema":{"type":"string","pattern":"^[a-z ]+$"}},
	{"name":"tag","in":"query","schema":{"type":"array","items":{"type":"string"}}},
	{"name":"limit","in":"query","schema":{"type":"integer","minimum":1,"default":50}},
	{"name":"wait","in":"query","schema":{"type":"integer","default":3}},
	{"name":"loud","in":"query","schema":{"type":"boolean"}},
	{"name":"X-Key","in":"header","schema":{"type":"string"}}],
	"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","additionalProperties":false,
		"properties":{"name":{"type":"string"},"count":{"type":"integer"},"inner":{"type":"object","properties":{"at":{"type":"string","format":"date-time"}}}}}}}},
	"responses":{"200":{"description":"d"}}}`

type word string

type thing struct {
	ID string `path:"id"`
}

type change struct {
	thing
	Tags  []word `query:"tag"`
	Limit int64  `query:"limit"`
	Wait  *int   `query:"wait"`
	Loud  bool   `query:"loud"`
	Key   word   `header:"X-Key"`
	Body  changed
	Hash  Hash
}

type changed struct {
	Name  *string `json:"name"`
	Count int     `json:"count"`
}

// read sends a request through a reader.
func read[Request any](t *testing.T, o *Operation, target, body string, header ...string) (Request, error) {
	t.Helper()
	reader, err := NewReader[Request](o)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", o.bodyType)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	route := chi.NewRouteContext()
	route.URLParams.Add("id", strings.TrimPrefix(r.URL.EscapedPath(), "/things/"))
	r = r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, route))
	request, err := reader.Parameters(r)
	if err == nil {
		err = reader.Body(httptest.NewRecorder(), r, &request)
	}
	return request, err
}

func TestReadersBindEveryPart(t *testing.T) {
	o := operationOf(t, everyPart)
	got, err := read[change](t, o, "/things/a%20b?tag=x&tag=y&wait=-7&loud=true", ` {"count":2,"name":"n"}`, "X-Key", "k")
	if err != nil {
		t.Fatal(err)
	}
	want := change{
		thing: thing{ID: "a b"}, Tags: []word{"x", "y"}, Limit: 50, Wait: new(-7), Loud: true, Key: "k",
		Body: changed{Name: new("n"), Count: 2}, Hash: got.Hash,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(change{})); diff != "" {
		t.Error(diff)
	}
	same, err := read[change](t, o, "/things/b", "{\"name\":\"\\u006e\",\n\"count\":2}")
	if err != nil || string(same.Hash) != string(got.Hash) || same.Wait != nil || same.Tags != nil {
		t.Errorf("got %+v, %v", same, err)
	}
	other, err := read[change](t, o, "/things/b", `{"name":"m","count":2}`)
	if err != nil || string(other.Hash) == string(got.Hash) {
		t.Errorf("another body has the same hash: %v", err)
	}
}

func TestReadersRefuse(t *testing.T) {
	o := operationOf(t, everyPart)
	for _, test := range []struct {
		name, target, body string
		code               domain.Code
		pointer            string
	}{
		{"a name that cannot be one", "/things/7", "{}", domain.CodeNotFound, ""},
		{"a name before all else", "/things/7?limit=x", "{", domain.CodeNotFound, ""},
		{"a wrong number", "/things/a?limit=x", "{}", domain.CodeInvalid, "limit"},
		{"a number of 19 digits", "/things/a?limit=1000000000000000000", "{}", domain.CodeInvalid, "limit"},
		{"a wrong boolean", "/things/a?loud=1", "{}", domain.CodeInvalid, "loud"},
		{"a parameter twice", "/things/a?wait=1&wait=1", "{}", domain.CodeInvalid, "wait"},
		{"an unknown parameter", "/things/a?no=1", "{}", domain.CodeInvalid, "no"},
		{"a broken query", "/things/a?tag=%zz", "{}", domain.CodeMalformed, ""},
		{"no text", "/things/a?tag=%ff", "{}", domain.CodeInvalid, "tag"},
		{"no body", "/things/a", "", domain.CodeMalformed, ""},
		{"a blank body", "/things/a", " \n", domain.CodeMalformed, ""},
		{"a name twice", "/things/a", `{"count":1,"count":1}`, domain.CodeMalformed, "/count"},
		{"more behind the value", "/things/a", `{} {}`, domain.CodeMalformed, ""},
		{"half a pair", "/things/a", `{"name":"\ud800"}`, domain.CodeMalformed, ""},
		{"a zero", "/things/a", `{"name":"\u0000"}`, domain.CodeInvalid, "/name"},
		{"an unknown field", "/things/a", `{"Count":1}`, domain.CodeInvalid, "/Count"},
		{"a number that no Go type holds", "/things/a", `{"count":5.0}`, domain.CodeInvalid, "/count"},
		{"a day that there is not", "/things/a", `{"inner":{"at":"2026-02-30T00:00:00Z"}}`, domain.CodeInvalid, "/inner/at"},
	} {
		_, err := read[change](t, o, test.target, test.body)
		var coded *domain.Error
		if !errors.As(err, &coded) || coded.Code != test.code {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if test.pointer != "" && (len(coded.Details) != 1 || coded.Details[0].Pointer != test.pointer) {
			t.Errorf("%s: %+v", test.name, coded.Details)
		}
	}
}

func TestFormsAreReadAsStrictly(t *testing.T) {
	type form struct {
		thing
		Body *changed
	}
	o := operationOf(t, `{"operationId":"f","security":[],"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
		"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","additionalProperties":false,"properties":{"name":{"type":"string"}}}}}},
		"responses":{"200":{"description":"d"}}}`)
	if got, err := read[form](t, o, "/things/a", "name=%C3%A4+%22"); err != nil || *got.Body.Name != `ä "` {
		t.Errorf("got %+v, %v", got.Body, err)
	}
	if got, err := read[form](t, o, "/things/a", ""); err != nil || got.Body != nil {
		t.Errorf("no form became %+v, %v", got.Body, err)
	}
	for body, code := range map[string]domain.Code{
		"name=a&name=b": domain.CodeMalformed, "name=%ff": domain.CodeMalformed, "name=%zz": domain.CodeMalformed,
		"name=%00": domain.CodeInvalid, "nam=a": domain.CodeInvalid,
	} {
		if _, err := read[form](t, o, "/things/a", body); domain.CodeOf(err) != code {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestATypeFitsItsOperationOrThereIsNoReader(t *testing.T) {
	o := operationOf(t, everyPart)
	none := operationOf(t, `{"operationId":"n","security":[],"responses":{"200":{"description":"d"}}}`)
	type parameters struct {
		thing
		Tags  []word `query:"tag"`
		Limit int    `query:"limit"`
		Wait  int    `query:"wait"`
		Loud  bool   `query:"loud"`
		Key   string `header:"X-Key"`
	}
	refused(t, "a parameter that no field names", func() error {
		_, err := NewReader[struct{ Body changed }](o)
		return err
	})
	refused(t, "a body that no field takes", func() error { _, err := NewReader[parameters](o); return err })
	refused(t, "a required body that may be nil", func() error {
		_, err := NewReader[struct {
			parameters
			Body *changed
		}](o)
		return err
	})
	refused(t, "a number as text", func() error {
		_, err := NewReader[struct {
			thing
			Tags  []word `query:"tag"`
			Limit string `query:"limit"`
			Wait  int    `query:"wait"`
			Loud  bool   `query:"loud"`
			Key   string `header:"X-Key"`
			Body  changed
		}](o)
		return err
	})
	refused(t, "a parameter that the document does not have", func() error { _, err := NewReader[thing](none); return err })
	refused(t, "a field that nothing fills", func() error { _, err := NewReader[struct{ Other string }](none); return err })
	refused(t, "a body that the document does not have", func() error { _, err := NewReader[struct{ Body changed }](none); return err })
	if _, err := NewReader[struct{}](none); err != nil {
		t.Error(err)
	}
}

func refused(t *testing.T, name string, bind func() error) {
	t.Helper()
	if bind() == nil {
		t.Errorf("%s was taken", name)
	}
}

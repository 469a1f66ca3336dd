package http

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/http/contract"
	"signoff/internal/runbooks/template"
)

// tight is the document with every object closed: an answer with a field that the document does not have fails.
var tight = sync.OnceValue(func() *openapi3.T {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/yaml", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/markdown", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder)
	for _, media := range consoleMedia {
		media, _, _ = strings.Cut(media, ";")
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	if err != nil {
		panic(err)
	}
	document.Servers = nil
	closed := false
	for _, schema := range document.Components.Schemas {
		if schema.Value.Type.Is("object") && schema.Value.AdditionalProperties.Has == nil && schema.Value.AdditionalProperties.Schema == nil {
			schema.Value.AdditionalProperties.Has = &closed
		}
	}
	nameExecutions(document.Components.Schemas)
	return document
})

// nameExecutions makes the events of the feed schemas of their own: a schema that takes no member beside its own cannot be extended.
func nameExecutions(schemas openapi3.Schemas) {
	feed := openapi3.NewOneOfSchema()
	for _, event := range schemas["Event"].Value.OneOf {
		named := *event.Value
		named.Properties = maps.Clone(named.Properties)
		named.Properties["executionId"] = openapi3.NewUUIDSchema().NewRef()
		named.Properties["agent"] = schemas["FeedAgent"]
		named.Required = append(slices.Clone(named.Required), "executionId", "agent")
		feed.OneOf = append(feed.OneOf, named.NewRef())
	}
	*schemas["FeedEvent"].Value = *feed
}

// check holds an answer against the document.
func check(h *testServer, r *http.Request, a answer) {
	h.Helper()
	keep := "no-store"
	if a.header.Get("ETag") != "" && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/console/")) {
		keep = "no-cache" // what the console is made of is no secret
		if strings.HasPrefix(r.URL.Path, h.file("")) {
			keep = "public, max-age=31536000, immutable"
		}
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": keep} {
		if a.header.Get(name) != want {
			h.Errorf("%s %s: %s is %q", r.Method, r.URL.Path, name, a.header.Get(name))
		}
	}
	if len(a.header.Get("X-Request-Id")) != 36 || a.header.Get("Access-Control-Allow-Origin") != "" {
		h.Errorf("%s %s: headers %v", r.Method, r.URL.Path, a.header)
	}
	isPage := strings.HasPrefix(r.URL.Path, "/approve/") && a.header.Get("Content-Type") == "text/html; charset=utf-8"
	if a.status >= 400 && !isPage { // which is for people
		checkProblem(h, r, a)
	}
	route := chi.NewRouteContext()
	if !h.server.router.Match(route, r.Method, r.URL.Path) {
		if a.status < 400 {
			h.Errorf("%s %s is not in the document and answers %d", r.Method, r.URL.Path, a.status)
		}
		return
	}
	pattern := route.RoutePattern()
	item := tight().Paths.Value(pattern)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: tight(), Path: pattern, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		},
		Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		h.Errorf("%s %s answers %d against the document: %v\n%s", r.Method, r.URL.Path, a.status, err, a.body)
	}
}

func checkProblem(h *testServer, r *http.Request, a answer) {
	h.Helper()
	if a.header.Get("Content-Type") != "application/problem+json" {
		h.Errorf("%s %s: %d is %q: %s", r.Method, r.URL.Path, a.status, a.header.Get("Content-Type"), a.body)
	}
	if r.Method == http.MethodHead {
		return
	}
	checkSchema(h, "Problem", a.body)
	if id := a.text("requestId"); id != a.header.Get("X-Request-Id") || a.text("instance") != "urn:uuid:"+id {
		h.Errorf("requestId %s does not fit the header", id)
	}
	if len(a.body) > 8<<10 && a.get("approval") == nil && a.get("execution") == nil {
		h.Errorf("a problem of %d bytes", len(a.body))
	}
	if answers[domain.Code(a.text("code"))].status != a.status || a.get("status") != float64(a.status) {
		h.Errorf("code %s with status %d", a.text("code"), a.status)
	}
	if a.status == 503 && a.header.Get("Retry-After") == "" || a.status == 401 && a.header.Get("WWW-Authenticate") == "" {
		h.Errorf("%d lacks a header: %v", a.status, a.header)
	}
}

func checkSchema(t testing.TB, name string, data []byte) {
	t.Helper()
	value, err := contract.ParseJSON(data)
	must(t, err)
	if err := tight().Components.Schemas[name].Value.VisitJSON(value, openapi3.MultiErrors(), openapi3.VisitAsResponse()); err != nil {
		t.Errorf("%s against its schema: %v\n%s", name, err, data)
	}
}

// checkFrame holds an event of a stream against its schema, and its fields against each other.
func checkFrame(t testing.TB, f frame) {
	t.Helper()
	if f.event == "stream.synced" {
		if f.id != "" {
			t.Errorf("stream.synced has the id %s", f.id)
		}
		checkSchema(t, "StreamSynced", []byte(f.data))
		return
	}
	checkSchema(t, "Event", []byte(f.data))
	var event struct {
		Seq  json.Number
		Type string
	}
	must(t, json.Unmarshal([]byte(f.data), &event))
	if event.Seq.String() != f.id || event.Type != f.event {
		t.Errorf("frame %s %s carries %s", f.id, f.event, f.data)
	}
}

func TestRouterAndDocumentAgreeInBothDirections(t *testing.T) {
	h := newTestServer(t)
	routed := map[string]bool{}
	must(t, chi.Walk(h.server.router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routed[method+" "+route] = true
		return nil
	}))
	if !maps.Equal(routed, asSet(maps.Keys(h.server.document))) {
		t.Errorf("router  %v\ndocument %v", slices.Sorted(maps.Keys(routed)), slices.Sorted(maps.Keys(h.server.document)))
	}
}

func asSet(names func(func(string) bool)) map[string]bool {
	set := map[string]bool{}
	for name := range names {
		set[name] = true
	}
	return set
}

func TestEveryRouteSaysWhoMayCallIt(t *testing.T) {
	public := map[string]bool{"GET /": true, "GET /healthz": true, "GET /readyz": true, "GET /openapi.yaml": true,
		"GET /console/{release}/{file}": true, "GET /approve/{token}": true, "POST /approve/{token}": true, // the token is the credential
	}
	document, err := contract.Load()
	must(t, err)
	for route, o := range document {
		if o.Public != public[route] {
			t.Errorf("%s: public is %v", route, o.Public)
		}
		if !o.Public && o.Scope == "" {
			t.Errorf("%s has no scope", route)
		}
	}
}

func TestTheDocumentListsEveryCodeWithItsStatus(t *testing.T) {
	schema := tight().Components.Schemas["ProblemCode"].Value
	documented := map[string]bool{}
	for _, code := range schema.Enum {
		documented[code.(string)] = true
	}
	for code, answer := range answers {
		if !documented[string(code)] {
			t.Errorf("%s is not in the document", code)
		}
		if line := "| `" + string(code) + "` | " + http.StatusText(answer.status); answer.title == "" || line == "" {
			t.Errorf("%s has no title", code)
		}
		if !strings.Contains(schema.Description, "| `"+string(code)+"` | "+itoa(answer.status)+" |") {
			t.Errorf("the document's table does not say that %s is %d", code, answer.status)
		}
		delete(documented, string(code))
	}
	if len(documented) > 0 {
		t.Errorf("documented, but never sent: %v", documented)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// TestEventsHaveTheFieldsOfTheDocument decodes a sample of each type, with all fields and with the required ones, and encodes it again:
// no documented field is lost, and the payload has no other fields. That both have the same types is a test of test/house.
func TestEventsHaveTheFieldsOfTheDocument(t *testing.T) {
	mapping := tight().Components.Schemas["Event"].Value.Discriminator.Mapping
	if len(mapping) < 30 {
		t.Fatalf("%d types", len(mapping))
	}
	for name, reference := range mapping {
		schema := tight().Components.Schemas[path.Base(reference.Ref)].Value.Properties["data"].Value
		for _, sent := range []any{sample(schema), required(schema)} {
			event := domain.Event{Execution: someID, Seq: 32, Type: domain.EventType(name), Time: time.Now(), Data: domain.Encode(sent)}
			payload, err := event.Payload()
			must(t, err)
			checkDocumented(t, name, reflect.TypeOf(payload), schema)
			again := domain.NewEvent(someID, payload)
			again.Seq, again.Time = event.Seq, event.Time
			checkSchema(t, "Event", events.NewFrame(again).JSON())
			for field := range sent.(map[string]any) {
				was, is := plain(t, event.Data).(map[string]any)[field], plain(t, again.Data).(map[string]any)[field]
				if diff := cmp.Diff(was, is); diff != "" {
					t.Errorf("%s: %s: %s", name, field, diff)
				}
			}
		}
	}
	for _, loose := range []domain.Payload{ // what agents and models write need not be well-formed
		domain.ToolCallRequested{ToolCallID: "c", MessageID: "m", Turn: 1, Tool: "?", Arguments: json.RawMessage(`"{broken"`)},
		domain.ApprovalRequested{
			ApprovalID: someID, ToolCallID: "c", Kind: domain.ApprovalAgentPermission, Arguments: json.RawMessage(`{"a":1}`),
			Options: json.RawMessage(`[{"optionId":"ok","name":"Yes","kind":"allow_once","_meta":{"x":1}},{"kind":"what"}]`),
		},
		domain.PlanUpdated{Turn: 1, Entries: []domain.PlanEntry{}}, domain.UsageUpdated{},
	} {
		event := domain.NewEvent(someID, loose)
		event.Seq, event.Time = 1, time.Now()
		checkSchema(t, "Event", events.NewFrame(event).JSON())
	}
}

// required is a sample with the required properties only.
func required(schema *openapi3.Schema) any {
	object := map[string]any{}
	for _, name := range schema.Required {
		object[name] = sample(schema.Properties[name].Value)
	}
	return object
}

// checkDocumented checks that a schema has every field of a type.
func checkDocumented(t *testing.T, at string, of reflect.Type, schema *openapi3.Schema) {
	t.Helper()
	for len(schema.AllOf) > 0 {
		schema = schema.AllOf[0].Value
	}
	switch {
	case of.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()):
	case of.Kind() == reflect.Pointer:
		checkDocumented(t, at, of.Elem(), schema)
	case of.Kind() == reflect.Slice && schema.Items != nil:
		checkDocumented(t, at, of.Elem(), schema.Items.Value)
	case of.Kind() == reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous || name == "-" {
				continue
			}
			if schema.Properties[name] == nil {
				t.Errorf("%s has the field %q, which the document does not have", at, name)
				continue
			}
			checkDocumented(t, at+"/"+name, field.Type, schema.Properties[name].Value)
		}
	}
}

func texts[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, word := range list {
		all[i] = string(word)
	}
	return all
}

func TestTheDocumentListsWhatTheDomainKnows(t *testing.T) {
	words := func(schema string) (words []string) {
		for _, word := range tight().Components.Schemas[schema].Value.Enum {
			words = append(words, word.(string))
		}
		return words
	}
	for schema, want := range map[string][]string{
		"ExecutionStatus": texts(domain.Statuses),
		"ApprovalStatus":  {"pending", "approved", "denied", "expired", "cancelled"},
		"ApprovalKind":    texts(domain.ApprovalKinds),
		"Effort":          texts(domain.Efforts),
		"WebhookType":     texts(domain.NotificationTypes),
		"SourceType":      {string(domain.SourceInternal), string(domain.SourceACP), string(domain.SourceProfile)},
		"FinishReason": {
			string(domain.FinishEndTurn), string(domain.FinishMaxTokens), string(domain.FinishMaxIterations), string(domain.FinishRefusal),
			string(domain.FinishCancelled), string(domain.FinishTimeout), string(domain.FinishError), string(domain.FinishExpired), string(domain.FinishBudget),
		},
		"ExecutionKind":    {string(domain.KindAgent), string(domain.KindAssistant), string(domain.KindGeneration)},
		"ClientCallStatus": {"waitingForClient", string(domain.ClientCallAnswered), string(domain.ClientCallExpired), string(domain.ClientCallCancelled)},
		"GenerationState": {
			string(domain.GenerationSubmitted), string(domain.GenerationAccepted), string(domain.GenerationSuperseded), string(domain.GenerationCancelled),
		},
		"Outcome": {
			string(domain.OutcomeSucceeded), string(domain.OutcomeFailed), string(domain.OutcomeDenied), string(domain.OutcomeExpired), string(domain.OutcomeCancelled),
			string(domain.OutcomeUnknown),
		},
		"TemplateSyntax":    {string(template.Jinja), string(template.Dollar)},
		"CapabilityVerdict": {string(domain.Deny), string(domain.Ask), string(domain.Allow)},
		"Resolution":        {string(domain.ResolutionSucceeded), string(domain.ResolutionFailed), string(domain.ResolutionRetry)},
		"Remember":          {string(domain.RememberOnce), string(domain.RememberExecution), string(domain.RememberTree), string(domain.RememberGlobal)},
		"DecidedBy": {
			string(approvals.ByCapability), string(approvals.ByTools), string(approvals.ByBashPolicy), string(approvals.ByCatastrophe),
			string(approvals.ByRule), string(approvals.ByPin), string(approvals.ByEnvironment), string(approvals.BySafeMode), string(approvals.ByUnattended), string(approvals.ByCeiling), string(approvals.ByDecision),
			string(approvals.ByAgent), string(approvals.ByExpiry), string(approvals.ByServer), string(approvals.ByBrokenPolicy),
		},
	} {
		if got := words(schema); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", schema, got, want)
		}
	}
	for _, word := range words("WhenBusy") {
		if !domain.WhenBusy(word).Known() {
			t.Errorf("nobody knows whenBusy %s", word)
		}
	}
	for _, word := range words("ResumeMode") {
		if !domain.ResumeMode(word).Known() {
			t.Errorf("nobody knows the mode %s", word)
		}
	}
}

func TestExamplesOfTheDocumentAreValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document)
	must(t, err)
	must(t, document.Validate(context.Background(), openapi3.EnableExamplesValidation()))
}

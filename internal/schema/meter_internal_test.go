package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestWorkIsBounded would not come to its end without the bound, and takes a hundredth of it: what doubles with each level passes
// any bound.
func TestWorkIsBounded(t *testing.T) {
	var doubling, dependent strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]},`, i, i+1, i+1)
		fmt.Fprintf(&dependent, `"d%d": {"dependencies": {"a": {"$ref": "#/$defs/d%d"}, "b": {"$ref": "#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	value := `{"a": 1, "b": 2}`
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	long := `"` + strings.Repeat("a", 1<<20) + `"`
	for what, c := range map[string]struct{ document, value string }{
		"doubling":         {`{"$ref": "#/$defs/d0", "$defs": {` + doubling.String() + `"d60": {"type": "string"}}}`, value},
		"doubling negated": {`{"not": {"$ref": "#/$defs/d0"}, "$defs": {` + dependent.String() + `"d60": false}}`, value},
		"an older draft":   {`{"$schema": "http://json-schema.org/draft-07/schema#", "not": {"$ref": "#/$defs/d0"}, "$defs": {` + dependent.String() + `"d60": false}}`, value},
		"recursion":        {`{"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}`, deep},
		"a slow pattern":   {`{"pattern": "(a|aa|aaa){300}b"}`, long},
		"many comparisons": {`{"allOf": [` + strings.Repeat(`{"uniqueItems": true},`, 1000) + `{}]}`, "[" + strings.Repeat("[1,2],", 9999) + "1]"},
	} {
		s, err := Compile(json.RawMessage(c.document))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s.meter.allowance = allowance / 100
		details := s.Check(json.RawMessage(c.value))
		if len(details) != 1 || !strings.Contains(details[0].Message, "too much work") {
			t.Errorf("%s: %v", what, details)
		}
	}
}

// TestAnUnknownErrorFitsNothing: the validator has no such error today.
func TestAnUnknownErrorFitsNothing(t *testing.T) {
	want := []domain.Detail{{Message: "this cannot be checked against its schema"}}
	if diff := cmp.Diff(want, verdict(errors.New("new in the next version"))); diff != "" {
		t.Error(diff)
	}
	if details := verdict(nil); details != nil {
		t.Error(details)
	}
}

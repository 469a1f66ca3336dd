package provider

import (
	"errors"
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	for data, want := range map[string]error{
		`{}`: nil, ` {"a":[1,{"b":null}]} `: nil, `null`: nil,
		``: errGarbage, `{`: errGarbage, `{"a":1`: errGarbage, `{"a":}`: errGarbage, `{} {}`: errGarbage, "{\"a\":\"\n\"}": errGarbage,
		`[]`: errGarbage, `"text"`: errGarbage, `1`: errGarbage, `nonsense`: errGarbage,
		`{"a":[` + strings.Repeat(`[],`, 2*deepest) + `[]]}`: nil, // many, but not deep
	} {
		if _, err := Document([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%.50s: %v", data, err)
		}
	}
}

// TestNoDepthEndsTheServer: a stack that is full cannot be recovered from.
func TestNoDepthEndsTheServer(t *testing.T) {
	for _, bracket := range []string{"[", `{"a":`} {
		data := strings.Repeat(bracket, MaxEventBytes/len(bracket))
		if _, err := Document([]byte(data)); !errors.Is(err, errGarbage) {
			t.Errorf("%s: %v", bracket, err)
		}
	}
}

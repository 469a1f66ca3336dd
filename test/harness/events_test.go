package harness

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// Who follows a stream over connections that break counts on both: what is yielded came whole, and what the server must not send is seen.
func TestEventsOfAStream(t *testing.T) {
	const first, second = "id: 1\nevent: execution.created\ndata: {\"seq\":1,\"type\":\"execution.created\"}\n\n", "id: 2\nevent: x\ndata: {\"seq\":2,\"type\":\"x\"}\n\n"
	for cut := range len(first + second) {
		seen := 0
		for event, err := range Events(strings.NewReader((first + second)[:cut])) {
			if seen++; err != nil || event.Seq != int64(seen) {
				t.Fatalf("cut at %d: %+v %v", cut, event, err)
			}
		}
		if wanted := min(cut/len(first), 1); seen != wanted {
			t.Errorf("cut at %d: %d events", cut, seen)
		}
	}
	for _, wrong := range []string{
		"id: 2\nevent: x\ndata: {\"seq\":1,\"type\":\"x\"}\n\n", "id: 1\ndata: {\"seq\":1,\"type\":\"x\"}\n\n", "id: 1\nevent: y\ndata: {\"seq\":1,\"type\":\"x\"}\n\n", "id: 1\ndata: {\"seq\":1\n\n",
	} {
		for _, err := range Events(strings.NewReader(wrong)) {
			if !errors.Is(err, ErrFrame) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
	}
	for _, err := range Events(io.MultiReader(strings.NewReader("id: 1\n"), broken{})) {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

package provider

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestEvents is the format as its standard has it, as far as models use it.
func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 3*readBytes)
	tests := []struct {
		name, body string
		want       []string // name and data
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"|a"}},
		{"a name", "event: n\ndata: a\n\ndata: b\n\n", []string{"n|a", "|b"}},
		{"the name comes last", "data: a\nevent: n\n\n", []string{"n|a"}},
		{"two names", "event: m\nevent: n\ndata: a\n\n", []string{"n|a"}},
		{"carriage returns", "event: n\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"n|a", "|b"}},
		{"a carriage return within", "data: a\rb\n\n", []string{"|a\rb"}},
		{"no blank", "data:a\n\n", []string{"|a"}},
		{"two blanks", "data:  a\n\n", []string{"| a"}},
		{"several lines", "data: a\ndata: b\n\n", []string{"|a\nb"}},
		{"colons", "data: a: b\n\n", []string{"|a: b"}},
		{"comments", ": x\n\n:\n: y\ndata: a\n: z\ndata: b\n\n", []string{"|a\nb"}},
		{"other fields", "id: 1\nretry: 2\nnonsense\ndata: a\n\n", []string{"|a"}},
		{"no data", "event: n\n\ndata\n\ndata:\n\ndata: a\n\n", []string{"|a"}},
		{"empty lines", "\n\n\ndata: a\n\n\n\n", []string{"|a"}},
		{"cut off", "data: a\n\ndata: b\n", []string{"|a"}},
		{"cut off in a line", "data: a\n\ndata: b", []string{"|a"}},
		{"a line longer than is read at once", "data: a\n\ndata: " + long + "\n\ndata: b\n\n", []string{"|a", "|" + long, "|b"}},
		{"long lines", "data: " + long + "\ndata: " + long + "y\n\n", []string{"|" + long + "\n" + long + "y"}},
	}
	for _, test := range tests {
		for _, body := range []io.Reader{strings.NewReader(test.body), iotest.OneByteReader(strings.NewReader(test.body))} {
			got, err := allEvents(body)
			if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, ErrEnded) {
				t.Errorf("%s: %v (-want +got):\n%.500s", test.name, err, diff)
			}
		}
	}
}

func allEvents(body io.Reader) (list []string, _ error) {
	reader := NewEventReader(body)
	for {
		event, err := reader.Next()
		if err != nil {
			return list, err
		}
		list = append(list, string(event.Name)+"|"+string(event.Data))
	}
}

// TestEventsAreBounded: what never ends would fill the memory. Comments keep a connection alive for as long as it takes.
func TestEventsAreBounded(t *testing.T) {
	line := strings.Repeat("x", 1<<20-10)
	for name, test := range map[string]struct {
		body string
		want error
	}{
		"a line that is long":           {"data: " + line + line + line + "\n\n", ErrEnded},
		"a line that is longer":         {"data: " + strings.Repeat(line, 5) + "\n\n", errLongEvent},
		"a line without an end":         {strings.Repeat(line, 5), errLongEvent},
		"a comment":                     {": " + strings.Repeat(line, 5), errLongEvent},
		"an event":                      {strings.Repeat("data: "+line+"\n", 8) + "\n", ErrEnded},
		"a longer event":                {strings.Repeat("data: "+line+"\n", 9), errLongEvent},
		"a longer one that is not kept": {strings.Repeat("id: "+line+"\n", 9), errLongEvent},
		"events":                        {strings.Repeat("data: "+line+"\n\n", 9), ErrEnded},
		"comments":                      {strings.Repeat(": "+line+"\n", 9) + "data: a\n\n", ErrEnded},
	} {
		if _, err := allEvents(strings.NewReader(test.body)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhereTheConsoleIsReached(t *testing.T) {
	for _, test := range []struct{ addr, said, want, wrong string }{
		{addr: "127.0.0.1:8080", want: "http://127.0.0.1:8080"},
		{addr: "localhost:80", want: "http://localhost:80"},
		{addr: "0.0.0.0:8080", want: "http://127.0.0.1:8080"},
		{addr: ":8080", want: "http://127.0.0.1:8080"},
		{addr: "[::]:8080", want: "http://[::1]:8080"},
		{addr: "[::1]:8080", want: "http://[::1]:8080"},
		{addr: "10.0.0.7:8080", want: "http://10.0.0.7:8080"},
		{addr: "127.0.0.1:0", wrong: "--url"},
		{addr: "127.0.0.1:0", said: "http://127.0.0.1:41234", want: "http://127.0.0.1:41234"},
		{addr: ":8080", said: "https://signoff.example/", want: "https://signoff.example"},
		{addr: ":8080", said: "https://[2001:db8::1]:8443", want: "https://[2001:db8::1]:8443"},
		{addr: "127.0.0.1:00", wrong: "--url"},
		{addr: "[fe80::1%eth0]:8080", wrong: "a zone"},
		{addr: "[fe80::1%eth0]:8080", said: "http://signoff.example:8080", want: "http://signoff.example:8080"},
		{addr: ":8080", said: "http://[fe80::1%25eth0]:8080", wrong: "--url"},
		{addr: ":8080", said: "http://127.0.0.1:99999", wrong: "--url"},
		{addr: ":8080", said: "http://127.0.0.256", wrong: "--url"},
		{addr: ":8080", said: "http://sign<off", wrong: "--url"},
		{addr: ":8080", said: "http://host with space:1", wrong: "--url"},
		{addr: ":8080", said: "https://größe.example", want: "https://größe.example"},
		{addr: ":8080", said: "signoff.example", wrong: "--url"},
		{addr: ":8080", said: "ftp://signoff.example", wrong: "--url"},
		{addr: ":8080", said: "https://", wrong: "--url"},
		{addr: ":8080", said: "https://:8080", wrong: "--url"},
		{addr: ":8080", said: "https://signoff.example/console", wrong: "--url"},
		{addr: ":8080", said: "https://signoff.example/?x=1", wrong: "--url"},
		{addr: ":8080", said: "https://signoff.example/#x", wrong: "--url"},
		{addr: ":8080", said: "https://ann@signoff.example", wrong: "--url"},
		{addr: ":8080", said: "https://signoff.example:port", wrong: "--url"},
	} {
		got, err := Config{Addr: test.addr}.reachedAt(test.said)
		if got != test.want || (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s, %q: %s, %v", test.addr, test.said, got, err)
		}
	}
}

// TestAddressesThatCannotBe: all commands that read the settings refuse them, serve as well as console.
func TestAddressesThatCannotBe(t *testing.T) {
	for addr, possible := range map[string]bool{
		"127.0.0.1:8080": true, "localhost:0": true, ":8080": true, "[::1]:8080": true, "[fe80::1%eth0]:80": true, "my_host.example.:65535": true,
		"127.0.0.1": false, "127.0.0.1:99999": false, "127.0.0.1:65536": false, "127.0.0.1:-1": false, "127.0.0.1:+80": false, "127.0.0.1:http": false,
		"host with space:1": false, "127.0.0.256:80": false, "http://localhost:80": false, "[a]b]:80": false, "a/b:80": false, "a%41:80": false,
		"a@b:80": false, "a\tb:80": false, ".:80": false, "[fe80::1%]:80": false,
	} {
		t.Run(addr, func(t *testing.T) {
			t.Setenv("SIGNOFF_ADDR", addr)
			t.Setenv("SIGNOFF_DATA_DIR", t.TempDir())
			if _, err := readConfig(); (err == nil) != possible {
				t.Errorf("%v", err)
			}
			var out strings.Builder
			err := console(t.Context(), nil, stdio{out: &out, err: io.Discard})
			if _, mistake := errors.AsType[usageError](err); !possible && !mistake || out.Len() > 0 {
				t.Errorf("console says %q, %v", out.String(), err)
			}
		})
	}
}

func TestTheFirstTokenIsRead(t *testing.T) {
	for content, want := range map[string]string{"sgn_1_2\n": "sgn_1_2", "": "", "\n": "", "two words": "", "two\nlines": ""} {
		config := Config{DataDir: t.TempDir()}
		if err := os.WriteFile(filepath.Join(config.DataDir, "token"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := config.firstToken("http://127.0.0.1:8080"); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v", content, got, err)
		}
	}
	_, err := Config{DataDir: t.TempDir()}.firstToken("http://127.0.0.1:8080")
	if err == nil || !strings.Contains(err.Error(), "open http://127.0.0.1:8080 in a browser") {
		t.Errorf("%v", err)
	}
}

package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"signoff/internal/store"
)

// TestPassword in each form that the driver takes.
func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(file, []byte("h:5432:d:u:from-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"":                                      "",
		"postgres://u:p%2Fw@h/d":                "p/w",
		"postgres://u@h/d?password=in%20here":   "in here",
		"host=h user=u password=plain dbname=d": "plain",
		`host=h user=u password = 'it\'s "quoted"' port=1`: `it's "quoted"`,
		"host=h user=u dbname=d passfile=" + file:          "from-the-file",
		"postgres://u:p@h:port/d":                          "",
	} {
		if got := (store.Config{DatabaseURL: address}).Password(); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

package main

import (
	"os"
	"strings"
	"testing"
)

// Whoever asks a command for help has made no mistake.
func TestHelpOfCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{
		"demo --help", "serve -h", "doctor --help", "console -h", "migrate --help", "keys --help", "keys create -h", "keys list -help", "keys revoke --help", "audit --help", "audit verify -h",
		"mcp --help", "mcp login -h", "mcp list --help", "mcp logout -h",
	} {
		var out, errOut strings.Builder
		code := run(t.Context(), strings.Fields(line), nil, &out, &errOut)
		if said := out.String() + errOut.String(); code != exitOK || strings.Contains(said, "help requested") || !strings.Contains(strings.ToLower(said), "usage") {
			t.Errorf("%s: exit %d\n%s", line, code, said)
		}
	}
	var said strings.Builder // -h is the name here
	if code := run(t.Context(), []string{"keys", "create", "--name", "-h", "--expires", "-1h"}, nil, &said, &said); code != exitUsage {
		t.Errorf("a bad time: exit %d\n%s", code, &said)
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("help has made %v", left)
	}
	var out, errOut strings.Builder
	if code := run(t.Context(), []string{"demo", "--nosuch"}, nil, &out, &errOut); code != exitUsage {
		t.Errorf("an unknown flag: exit %d", code)
	}
}

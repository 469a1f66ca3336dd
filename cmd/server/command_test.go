package main

import (
	"strings"
	"testing"
)

// Whoever asks a command for help has made no mistake.
func TestHelpOfCommands(t *testing.T) {
	for _, args := range [][]string{{"demo", "--help"}, {"keys", "create", "-h"}, {"serve", "-h"}, {"doctor", "--help"}} {
		var out, errOut strings.Builder
		if code := run(t.Context(), args, nil, &out, &errOut); code != exitOK || strings.Contains(errOut.String(), "help requested") || !strings.Contains(errOut.String(), "Usage of signoff") {
			t.Errorf("%q: exit %d\n%s%s", args, code, &out, &errOut)
		}
	}
	var out, errOut strings.Builder
	if code := run(t.Context(), []string{"demo", "--nosuch"}, nil, &out, &errOut); code != exitUsage {
		t.Errorf("an unknown flag: exit %d", code)
	}
}

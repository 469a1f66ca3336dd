package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"signoff/internal/mcp/oauth/oauthtest"
)

// operator is a machine with a configuration and a SQLite database.
func operator(t *testing.T, yaml string) {
	t.Helper()
	config := written(t, yaml)
	t.Setenv("SIGNOFF_CONFIG", config.Config)
	t.Setenv("SIGNOFF_DATA_DIR", config.DataDir)
}

func runWith(t *testing.T, in io.Reader, line string) (out, errOut string, code int) {
	t.Helper()
	var o, e strings.Builder
	code = run(t.Context(), strings.Fields(line), in, &o, &e)
	return o.String(), e.String(), code
}

func TestSignInFromTheCommandLine(t *testing.T) {
	a := oauthtest.New(t)
	operator(t, fmt.Sprintf(`models: {demo: {provider: demo}}
mcpServers:
  tools: {url: "%[1]s/mcp", oauth: {}}
  other: {url: "%[1]s/mcp", oauth: {}, tenants: [night]}
  plain: {url: "%[1]s/mcp"}
`, a.Tools.URL))
	key := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

	if out, errOut, code := runWith(t, nil, "mcp list"); code != exitOK || !strings.Contains(out, "tools") || !strings.Contains(out, "not signed in") || strings.Contains(out, "other") || strings.Contains(out, "plain") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	if _, errOut, code := runWith(t, nil, "mcp login tools"); code != exitFailed || !strings.Contains(errOut, "openssl rand -base64 32") {
		t.Errorf("without a key: exit %d, %s", code, errOut)
	}
	t.Setenv("SIGNOFF_ENCRYPTION_KEY", key)
	for line, says := range map[string]string{
		"mcp login":                    "takes a name",
		"mcp login other":              `no MCP server "other"; there are: plain, tools.`,
		"mcp login plain":              "has no oauth",
		"mcp login tools more":         `"more"`,
		"mcp login tools --port 65536": "--port",
		"mcp logout tools":             "not signed in",
		"mcp":                          "usage",
	} {
		if _, errOut, code := runWith(t, nil, line); code == exitOK || !strings.Contains(errOut, says) {
			t.Errorf("%s: exit %d, %s", line, code, errOut)
		}
	}

	pasted, paste := io.Pipe()
	shown, show := io.Pipe()
	go func() {
		page := bufio.NewScanner(shown)
		page.Scan()
		back, err := oauthtest.Consent(page.Text())
		if err != nil {
			t.Error(err)
			paste.Close()
			return
		}
		fmt.Fprintln(paste, back)
	}()
	var errOut strings.Builder
	if code := run(t.Context(), strings.Fields("mcp login tools --no-browser --scopes write,more"), pasted, show, &errOut); code != exitOK {
		t.Fatalf("exit %d, %s", code, &errOut)
	}
	if !strings.Contains(errOut.String(), "with the scopes tools, write, more") {
		t.Error(errOut.String())
	}
	list, _, code := runWith(t, nil, "mcp list")
	if code != exitOK || !strings.Contains(list, "good") || !strings.Contains(list, a.URL) || !strings.Contains(list, "tools,write,more") {
		t.Errorf("exit %d\n%s", code, list)
	}
	for _, secret := range append(a.Secrets, key) {
		if strings.Contains(list+errOut.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
		if !strings.HasPrefix(secret, "code") && logMasker().MaskString(secret) == secret && secret == key {
			t.Error("the key is not masked")
		}
	}
	if _, errOut, code := runWith(t, nil, "mcp logout tools"); code != exitOK || !strings.Contains(errOut, "deleted") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

func TestAWrongEncryptionKeyStopsTheStart(t *testing.T) {
	t.Setenv("SIGNOFF_ENCRYPTION_KEY", "not-a-key")
	if _, err := readConfig(); err == nil || !strings.Contains(err.Error(), "SIGNOFF_ENCRYPTION_KEY: key 1 of 1") || strings.Contains(err.Error(), "not-a-key") {
		t.Error(err)
	}
}

func TestTheEncryptionKeyIsMasked(t *testing.T) {
	config := written(t, "models: {demo: {provider: demo}}")
	config.EncryptionKey = "first-key-of-two, second-key-of-two"
	file, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	_, masker, err := file.openSecrets(config)
	if err != nil {
		t.Fatal(err)
	}
	if got := masker.MaskString("first-key-of-two or second-key-of-two"); got != "[masked] or [masked]" {
		t.Error(got)
	}
}

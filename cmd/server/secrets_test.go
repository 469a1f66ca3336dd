package main

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

const canary = "canary-of-the-server"

// opened reads a file and returns what is made of its secrets.
func opened(t testing.TB, text string) (*secrets.Vault, *secrets.Masker, error) {
	t.Helper()
	config := written(t, text)
	file, err := config.readConfigFile()
	if err != nil {
		return nil, nil, err
	}
	return file.openSecrets(config)
}

// logTo has the process's log in a buffer for one test.
func logTo(t *testing.T, config Config) *bytes.Buffer {
	t.Helper()
	t.Cleanup(func() { slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil))) })
	var out bytes.Buffer
	config.LogLevel = "info"
	config.setLogger(&out)
	return &out
}

func TestSecretsOfTheFile(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", canary)
	t.Setenv("NPM_TOKEN", canary+"-of-npm")
	t.Setenv("EMPTY_KEY", "")
	vault, masker, err := opened(t, "models: {demo: {provider: demo}}\nsecrets:\n  github: {env: GITHUB_TOKEN, as: GH_TOKEN}\n"+
		"  npm.read-only_1: {env: NPM_TOKEN}\n  empty: {env: EMPTY_KEY}\n  gone: {env: NOT_SET_AT_ALL}\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := vault.Environment([]string{"github", "npm.read-only_1"})
	if err != nil || !slices.Equal(got, []string{"GH_TOKEN=" + canary, "NPM_TOKEN=" + canary + "-of-npm"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got := masker.MaskString(canary + "-of-npm, " + canary); got != "[masked], [masked]" {
		t.Error(got)
	}
	for _, name := range []string{"empty", "gone"} {
		_, err := vault.Environment([]string{name})
		if !vault.Has(name) || domain.CodeOf(err) != domain.CodeUnknownSecret || !strings.Contains(err.Error(), "was empty when the server started") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMistakesOfSecretsAreShownInTheFile with their place, and without a value.
func TestMistakesOfSecretsAreShownInTheFile(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", canary)
	t.Setenv("SHORT", "12 45")
	for text, wanted := range map[string][]string{
		"  github: {env: GITHUB_TOKEN, name: x}":             {`"name"`, "[3:"},
		"  github: {as: GH_TOKEN}":                           {"secrets.github.env", "missing", ">  3 |"},
		"  github: null":                                     {"secrets.github.env", "missing"},
		"  github:\n    env: SIGNOFF_DATABASE_URL":           {"secrets.github.env", "the server's own", ">  4 |"},
		"  github:\n    env: GITHUB_TOKEN\n    as: PATH":     {"secrets.github.as", "PATH tells programs what to do", ">  5 |"},
		"  github:\n    env: GITHUB_TOKEN\n    as: GH-TOKEN": {"secrets.github.as", "no name of a variable", ">  5 |"},
		"  short: {env: SHORT}":                              {"secrets.short", "shorter than 6 bytes", ">  3 |"},
		"  git hub: {env: GITHUB_TOKEN}":                     {"secrets.git hub", "1 to 100 letters", ">  3 |"},
		"  a: {env: GITHUB_TOKEN}\n  b: {env: GITHUB_TOKEN}": {"secrets.b.as", `"a" is given as GITHUB_TOKEN already`, ">  4 |"},
	} {
		_, _, err := opened(t, "models: {demo: {provider: demo}}\nsecrets:\n"+text)
		var out bytes.Buffer
		if exitCode(err, &out) != exitUsage {
			t.Errorf("%s\nends with another code: %v", text, err)
			continue
		}
		for _, want := range append(wanted, "signoff.yaml: ") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s\n%q is not in: %s", text, want, out.String())
			}
		}
		if strings.Contains(out.String(), canary) || strings.Contains(out.String(), "12 45") {
			t.Errorf("%s\na value is in: %s", text, out.String())
		}
	}
}

func TestTheMaskerKnowsAllThatTheOperatorGives(t *testing.T) {
	for name, value := range map[string]string{
		"MODEL_VALUE": "key-of-the-model", "AGENT_KEY": "key-of-the-agent", "AGENT_PLACE": "place-of-the-agent",
		"MCP_PASSWORD": "password-of-mcp", "HEADER": "Bearer header-of-mcp", "UNRELATED_KEY": "not-ours-to-read",
	} {
		t.Setenv(name, value)
	}
	config := written(t, `models:
  default: hosted
  hosted: {provider: openai, model: m, apiKeyEnv: MODEL_VALUE}
  behind:
    provider: openai
    model: m
    extraHeaders: {Helicone-Auth: auth-of-the-gateway, X-Pass: Bearer bearer-of-the-gateway, X-Virtual-Key: virtual-key-of-it, X-Team: the-team-of-mine}
    extraBody: {guard: [{token: {value: token-in-the-body}, mode: strict-mode}]}
agents: {mine: {command: a, env: [AGENT_KEY, AGENT_PLACE, NOT_SET_KEY], setEnv: {apiKey: set-for-the-agent, FOO: plainly-set}}}
mcpServers:
  one: {command: b, env: [MCP_PASSWORD], setEnv: {A_CREDENTIAL: set-for-mcp}}
  two: {url: "https://docs.example/mcp", headersEnv: {X-Whatever: HEADER}}
`)
	config.DatabaseURL = "postgres://me:pass%2Fword-of-db@db.example/x"
	if err := os.WriteFile(config.tokenFile(), []byte("token-of-the-server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	_, masker, err := file.openSecrets(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		"key-of-the-model", "key-of-the-agent", "set-for-the-agent", "password-of-mcp", "set-for-mcp", "Bearer header-of-mcp", "header-of-mcp",
		"auth-of-the-gateway", "Bearer bearer-of-the-gateway", "bearer-of-the-gateway", "virtual-key-of-it", "token-in-the-body",
		"pass/word-of-db", "pass%2Fword-of-db", "token-of-the-server",
	} {
		if got := masker.MaskString(secret); got != secrets.Masked {
			t.Errorf("%s became %s", secret, got)
		}
	}
	for _, plain := range []string{"place-of-the-agent", "the-team-of-mine", "strict-mode", "plainly-set", "not-ours-to-read", "MODEL_VALUE", "db.example"} {
		if got := masker.MaskString(plain); got != plain {
			t.Errorf("%s became %s", plain, got)
		}
	}
}

// TestADatabasePasswordIsKnownInEachForm, also where the driver cannot read the address.
func TestADatabasePasswordIsKnownInEachForm(t *testing.T) {
	for _, address := range []string{
		"postgres://me:" + canary + "@db.example/x", "postgres://me@db.example/x?password=" + canary,
		"host=db.example user=me password=" + canary + " dbname=x", "host=db.example password = '" + canary + "'",
		"postgres://me:" + canary + "@db.example/x?sslmode=nonsense", "postgres://me@db.example/x?sslpassword=" + canary,
	} {
		out := logTo(t, Config{LogFormat: "text", DatabaseURL: address})
		slog.Warn("cannot use " + canary)
		if strings.Contains(out.String(), canary) {
			t.Errorf("%s: %s", address, out)
		}
	}
}

func TestKeysThatAreTooShortStopTheStart(t *testing.T) {
	t.Setenv("SHORT_KEY", "12 45")
	t.Setenv("SHORT_BEARER", "Bearer 12 45")
	t.Setenv("EMPTY_KEY", "")
	for text, place := range map[string]string{
		"models: {hosted: {provider: openai, model: m, apiKeyEnv: SHORT_KEY}}":                                                        "models.hosted.apiKeyEnv",
		"models: {demo: {provider: demo}}\nmcpServers: {docs: {url: 'https://x.example', headersEnv: {X-Key: SHORT_KEY}}}":            "mcpServers.docs.headersEnv.X-Key",
		"models: {demo: {provider: demo}}\nmcpServers: {docs: {url: 'https://x.example', headersEnv: {Authorization: SHORT_BEARER}}}": "mcpServers.docs.headersEnv.Authorization",
		"models: {demo: {provider: demo}}\nwebSearch: {provider: brave, apiKeyEnv: SHORT_KEY}":                                        "webSearch.apiKeyEnv",
		"models: {hosted: {provider: openai, model: m, apiKeyEnv: EMPTY_KEY}, demo: {provider: demo}}":                                "",
	} {
		_, _, err := opened(t, text)
		if place == "" {
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		var out bytes.Buffer
		if exitCode(err, &out) != exitUsage || !strings.Contains(out.String(), place) || !strings.Contains(out.String(), "SHORT_") ||
			!strings.Contains(out.String(), "shorter than 6 bytes") || strings.Contains(out.String(), "12 45") {
			t.Errorf("%s\nsays: %s", text, out.String())
		}
	}
}

func TestATokenThatCannotBeReadStopsTheStart(t *testing.T) {
	config := written(t, "agents: {claude: {}}")
	if err := os.Mkdir(config.tokenFile(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := demoModels().openSecrets(config); exitCode(err, new(bytes.Buffer)) != exitUsage {
		t.Error(err)
	}
}

func TestTheLogMasks(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		out := logTo(t, Config{LogFormat: format, DatabaseURL: "postgres://me:" + canary + "@db.example/x"})
		slog.Warn("early", "error", errors.New("cannot reach "+canary), "later", "value-of-later")
		maskLog(secrets.NewMasker(canary, "value-of-later"))
		slog.Default().With("later", "value-of-later").Error(canary)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || strings.Contains(out.String(), canary) || strings.Count(out.String(), "value-of-later") != 1 {
			t.Errorf("%s: %s", format, out)
		}
	}
}

// TestTheFirstStartMasksItsToken, which is there only after the file was read; and it masks also what net/http says of its
// own accord.
func TestTheFirstStartMasksItsToken(t *testing.T) {
	config := Config{
		Addr: "127.0.0.1:0", DataDir: t.TempDir(), WorkspaceRoot: t.TempDir(), Sandbox: "off",
		DrainSeconds: 1, LeaseSeconds: 10, MaxStreams: 10,
	}
	out := logTo(t, config)
	app, err := Open(t.Context(), config, demoModels())
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	token, err := os.ReadFile(config.tokenFile())
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(token))
	slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn).Printf("http: panic serving 127.0.0.1: %q", secret)
	if got := out.String(); strings.Contains(got, secret) || !strings.Contains(got, "[masked]") {
		t.Error(got)
	}
	if got := app.masker.MaskString("x" + secret); got != "x[masked]" || app.vault == nil {
		t.Errorf("the app has another masker, or no vault: %s", got)
	}
}

// TestErrorsAtTheEndMask: they go to standard error past the log.
func TestErrorsAtTheEndMask(t *testing.T) {
	const address = "postgres://me:" + canary + "@db.example/x"
	for _, err := range []error{
		errors.New("cannot reach " + address), usagef("not %s", address),
		domain.Errorf(domain.CodeStorage, "The database does not answer.").With(errors.New(address)),
	} {
		var out bytes.Buffer
		exitCode(err, &out)
		(&diagnosis{out: &out}).bad("database", err)
		if got := out.String(); strings.Contains(got, canary) || strings.Count(got, "me:[masked]@db.example") != 2 {
			t.Error(got)
		}
	}
}

// TestErrorsAtTheEndMaskWhatTheLogDoes: the values are known as soon as the file is read.
func TestErrorsAtTheEndMaskWhatTheLogDoes(t *testing.T) {
	logTo(t, Config{LogFormat: "text"})
	maskLog(secrets.NewMasker(canary))
	var out bytes.Buffer
	exitCode(errors.New("no "+canary), &out)
	d := &diagnosis{out: &out, masker: logMasker()}
	d.bad("one", errors.New("no "+canary))
	d.good("two", canary)
	d.note("three", canary)
	if got := out.String(); strings.Contains(got, canary) || strings.Count(got, secrets.Masked) != 4 {
		t.Error(got)
	}
}

// TestMistakesShowNoSecretOfTheFile: some stand there rightly, beside what is wrong, and some are what is wrong.
func TestMistakesShowNoSecretOfTheFile(t *testing.T) {
	const demo = "models: {demo: {provider: demo}}\n"
	for text, want := range map[string]string{
		demo + "agents:\n  a:\n    setEnv: {A_TOKEN: CANARY}\n    args: {x: y}":                                        ">  5 |",
		demo + "agents:\n  a:\n    setEnv:\n      PLACE: CANARY\n    argumens: [x]":                                    ">  6 |",
		demo + "agents:\n  a:\n    command: c\n    setEnv:\n      X: CANARY\n    silentAfterSeconds: 0":                "1 to 3600",
		demo + "agents:\n  a: {command: c, setEnv: {X: CANARY}}\n  a: {command: d}":                                    "[4:",
		demo + "agents:\n  a: {command: c, setEnv: {X: CANARY}}\n  b: {command: 'unfinished":                           "[4:",
		demo + "agents:\n  a: {command: c, env: [A_KEY=CANARY]}":                                                       "env holds names alone",
		demo + "mcpServers:\n  a: {command: c, setEnv: {X: CANARY}, header: x}":                                        ">  3 |",
		demo + "mcpServers:\n  a:\n    url: 'ftp://x.example/?q=CANARY'":                                               "mcpServers.a.url",
		demo + "mcpServers:\n  a: {url: 'https://x.example', headersEnv: {X: 'Bearer CANARY'}}":                        "mcpServers.a.headersEnv",
		demo + "mcpServers:\n  a: {url: 'https://x.example', setEnv: {X: \"can\\\"CANARY\"}}":                          "mcpServers.a",
		demo + "secrets:\n  a: {env: A, value: CANARY}":                                                                ">  3 |",
		demo + "secrets:\n  a: CANARY":                                                                                 "[3:",
		demo + "mcpServers:\n  a: {command: c, setEnv: {X: 'it''s CANARY'}, header: x}":                                ">  3 |",
		demo + "agents:\n  a: {command: c, apiKey: CANARY}":                                                            ">  3 |",
		"models:\n  a:\n    apiKey: CANARY":                                                                            `unknown field "apiKey"`,
		"models:\n  a: {provider: openai, model: m, baseUrl: 'https://h.example/v1?key=CANARY'}":                       "more than host and path",
		"models:\n  a: {provider: openai, model: m, baseUrl: 'https://h.example/v1#CANARY'}":                           "more than host and path",
		"models:\n  a: {provider: openai, model: m, baseUrl: 'CANARY'}":                                                "not an http or https address",
		"models:\n  b: {provider: demo}\n  a: {provider: o, model: m, baseUrl: 'https://h.example/v1?key=CANARY'}":     ">  3 |",
		"models:\n  a: {provider: demo, apiKeyEnv: 'no-name CANARY'}\n  default: x":                                    "models.default",
		demo + "mcpServers:\n  a:\n    setEnv:\n      X: |\n        one\n        CANARY\n    header: x":                ">  8 |",
		demo + "mcpServers:\n  a:\n    setEnv:\n      X: one\n        CANARY\n      Y: &y !!str CANARY\n    header: x": ">  8 |",
		"models:\n  a: {provider: openai, model: m, extraHeaders: {Host: a, X-Team: CANARY}}":                          ">  2 |",
		"models:\n  a:\n    provider: openai\n    extraBody: {n: [CANARY]}\n    model: m":                              "models.a.extraBody.n",
		"CANARY": "signoff.yaml", "- CANARY": "signoff.yaml", "models: CANARY\n\tx": "signoff.yaml",
	} {
		out := failureOfStart(t, strings.ReplaceAll(text, "CANARY", canary))
		if strings.Contains(out, canary) || !strings.Contains(out, want) {
			t.Errorf("%s\nwants %q, and says: %s", text, want, out)
		}
	}
}

// failureOfStart is what is said where the server does not start with this file.
func failureOfStart(t *testing.T, text string) string {
	t.Helper()
	config := written(t, text)
	file, err := config.readConfigFile()
	if err == nil {
		_, _, err = file.openSecrets(config)
	}
	if err == nil {
		_, err = file.openModels(nil, nil, nil, nil)
	}
	if err == nil {
		_, err = file.openMCPServers()
	}
	if err == nil {
		_, err = file.openAgents(config, nil, nil, nil, nil)
	}
	var out bytes.Buffer
	if exitCode(err, &out) != exitUsage {
		t.Errorf("%s\nends with another code: %v", text, err)
	}
	return out.String()
}

func TestDoctorTellsOfSecrets(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", canary)
	config := written(t, "models: {demo: {provider: demo}}\nsecrets: {github: {env: GITHUB_TOKEN, as: GH_TOKEN}, gone: {env: GONE_KEY}}")
	file, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	vault, _, err := file.openSecrets(config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := &diagnosis{out: &out}
	d.secrets(vault)
	const want = "ok    secret github          GITHUB_TOKEN, given as GH_TOKEN\nFAIL  secret gone            the variable GONE_KEY is empty\n"
	if got := out.String(); got != want || !d.broken {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

package main

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// openSecrets reads the named secrets, and builds the masker of all values that nobody may see. It reads the values once: a change takes
// effect at the next start.
func (f configFile) openSecrets(config Config) (*secrets.Vault, *secrets.Masker, error) {
	named, err := f.namedSecrets()
	if err != nil {
		return nil, nil, f.mistake(err)
	}
	vault, err := secrets.NewVault(named...)
	if err != nil {
		return nil, nil, f.mistake(err)
	}
	if err := f.checkLengths(); err != nil {
		return nil, nil, f.mistake(err)
	}
	values := slices.Concat(f.modelKeys(), f.modelExtras(), f.agentSecrets(), config.databasePassword(), strings.Split(config.EncryptionKey, ","), []string{f.searchKey()})
	for _, s := range named {
		values = append(values, s.Value)
	}
	token, err := os.ReadFile(config.tokenFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("the token cannot be read, so it could not be masked: %w", err)
	}
	return vault, secrets.NewMasker(append(values, string(token))...), nil
}

func (f configFile) namedSecrets() (named []secrets.Secret, err error) {
	for _, name := range slices.Sorted(maps.Keys(f.Secrets)) {
		s := f.Secrets[name]
		place := domain.Pointer("secrets", name)
		switch {
		case s.Env == "":
			return nil, domain.Invalid(place+"/env", "missing: it names the variable that the server reads the secret from")
		case strings.HasPrefix(s.Env, prefix+"_"):
			return nil, domain.Invalid(place+"/env", "variables that begin with %s_ are the server's own, not %q", prefix, s.Env)
		}
		named = append(named, secrets.Secret{Name: name, From: s.Env, Variable: cmp.Or(s.As, s.Env), Value: os.Getenv(s.Env)})
	}
	return named, nil
}

// checkLengths finds keys that are too short to be masked. The vault checks the named secrets.
func (f configFile) checkLengths() error {
	for _, name := range slices.Sorted(maps.Keys(f.Models.Models)) {
		if err := checkLength(domain.Pointer("models", name, "apiKeyEnv"), f.Models.Models[name].APIKeyEnv); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.MCPServers)) {
		if err := f.MCPServers[name].checkLengths(domain.Pointer("mcpServers", name)); err != nil {
			return err
		}
	}
	if f.WebSearch == nil {
		return nil
	}
	return checkLength(domain.Pointer("webSearch", "apiKeyEnv"), f.WebSearch.APIKeyEnv)
}

func (s mcpServer) checkLengths(place string) error {
	for _, header := range slices.Sorted(maps.Keys(s.HeadersEnv)) {
		if err := checkLength(place+"/headersEnv"+domain.Pointer(header), s.HeadersEnv[header]); err != nil {
			return err
		}
	}
	if err := checkLength(place+"/bearerEnv", s.BearerEnv); err != nil || s.OAuth == nil {
		return err
	}
	return checkLength(place+"/oauth/clientSecretEnv", s.OAuth.ClientSecretEnv)
}

// checkLength checks the credential without its scheme, such as "Bearer".
func checkLength(place, variable string) error {
	if variable == "" {
		return nil
	}
	value := strings.TrimSpace(os.Getenv(variable))
	if scheme, credential, found := strings.Cut(value, " "); found && slices.Contains(schemes, strings.ToLower(scheme)) {
		value = strings.TrimSpace(credential)
	}
	if value == "" || len(value) >= secrets.MinLength {
		return nil
	}
	return domain.Invalid(place, "the value of %s is shorter than %d bytes, so it could not be masked where it shows up; "+
		"leave the field out where no key is wanted", variable, secrets.MinLength)
}

var schemes = []string{"bearer", "basic", "token"}

func (f configFile) modelKeys() (values []string) {
	for _, m := range f.Models.Models {
		if m.APIKeyEnv != "" {
			values = append(values, os.Getenv(m.APIKeyEnv))
		}
	}
	return values
}

// modelExtras are the values of extraHeaders and extraBody whose names suggest a secret. The other values are everyday words, such as the name of
// a team. If they were masked, models would get changed texts.
func (f configFile) modelExtras() (values []string) {
	for _, m := range f.Models.Models {
		for name, value := range m.ExtraHeaders {
			scheme, credential, found := strings.Cut(value, " ")
			switch {
			case found && slices.Contains(schemes, strings.ToLower(scheme)):
				values = append(values, value, credential)
			case secrets.Suspect(name), strings.Contains(strings.ToLower(name), "auth"):
				values = append(values, value)
			}
		}
		values = append(values, suspectsWithin(m.ExtraBody)...)
	}
	return values
}

// suspectsWithin are the texts of a document that stand anywhere under a suspect name.
func suspectsWithin(document any) (values []string) {
	switch node := document.(type) {
	case map[string]any:
		for name, value := range node {
			if secrets.Suspect(name) {
				values = append(values, textsWithin(value)...)
			} else {
				values = append(values, suspectsWithin(value)...)
			}
		}
	case []any:
		for _, element := range node {
			values = append(values, suspectsWithin(element)...)
		}
	}
	return values
}

func textsWithin(document any) (texts []string) {
	switch node := document.(type) {
	case string:
		return []string{node}
	case map[string]any:
		for _, value := range node {
			texts = append(texts, textsWithin(value)...)
		}
	case []any:
		for _, element := range node {
			texts = append(texts, textsWithin(element)...)
		}
	}
	return texts
}

// agentSecrets are the variables of agents and MCP servers whose names suggest a secret, and all headers: a header is there to sign in,
// whatever its name.
func (f configFile) agentSecrets() (values []string) {
	for _, a := range f.Agents {
		values = append(values, suspects(a.Env, a.SetEnv)...)
	}
	for _, server := range f.MCPServers {
		values = append(values, suspects(server.Env, server.SetEnv)...)
		for _, variable := range server.HeadersEnv {
			value := os.Getenv(variable)
			_, credential, _ := strings.Cut(value, " ") // of "Bearer …"
			values = append(values, value, credential)
		}
		for _, variable := range server.credentials() {
			values = append(values, os.Getenv(variable))
		}
	}
	return values
}

// credentials are the variables that hold a token or a secret alone.
func (s mcpServer) credentials() (variables []string) {
	if s.BearerEnv != "" {
		variables = append(variables, s.BearerEnv)
	}
	if s.OAuth != nil && s.OAuth.ClientSecretEnv != "" {
		variables = append(variables, s.OAuth.ClientSecretEnv)
	}
	return variables
}

func suspects(passedOn []string, set map[string]string) (values []string) {
	for _, name := range passedOn {
		if secrets.Suspect(name) {
			values = append(values, os.Getenv(name))
		}
	}
	for name, value := range set {
		if secrets.Suspect(name) {
			values = append(values, value)
		}
	}
	return values
}

// databasePassword is the password as the driver reads it, in any form, and as the URL has it: also from a URL that the driver cannot read.
func (c Config) databasePassword() []string {
	passwords := []string{c.storeConfig().Password()}
	if address, err := url.Parse(c.DatabaseURL); err == nil {
		password, _ := address.User.Password()
		passwords = append(passwords, password, address.Query().Get("password"), address.Query().Get("sslpassword"))
	}
	return passwords
}

// maskLent masks the credentials in a file that an environment lends. A file with too many of them is not lent.
func maskLent(m *secrets.Masker, path string, content []byte) error {
	values, err := secrets.Credentials(content)
	if err == nil {
		m.Learn(path, values...)
	}
	return err
}

// maskLog makes m the masker of the process's log. A log without our handler, as in a test, stays as it is: Go's default handler behind
// another one deadlocks.
func maskLog(m *secrets.Masker) {
	if handler, ours := slog.Default().Handler().(*secrets.Handler); ours {
		slog.SetDefault(slog.New(secrets.NewHandler(handler, m)))
	}
}

// logMasker is the masker of the log, which knows the most secrets. Without our log it is nil, and a nil masker knows only the shapes of keys.
func logMasker() *secrets.Masker {
	if handler, ours := slog.Default().Handler().(*secrets.Handler); ours {
		return handler.Masker()
	}
	return nil
}

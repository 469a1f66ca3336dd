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

// secret is an entry of the section secrets.
type secret struct {
	Env string `yaml:"env"` // where the server reads it
	As  string `yaml:"as"`  // the variable of commands; empty: the same
}

// openSecrets reads the named secrets, and gathers all that must not be seen. The values are read here once: a secret
// that changes is taken up by the next start.
func (r registry) openSecrets(config Config) (*secrets.Vault, *secrets.Masker, error) {
	named, err := r.namedSecrets()
	if err != nil {
		return nil, nil, r.mistake(err)
	}
	vault, err := secrets.NewVault(named...)
	if err != nil {
		return nil, nil, r.mistake(err)
	}
	if err := r.checkLengths(); err != nil {
		return nil, nil, r.mistake(err)
	}
	values := slices.Concat(r.modelKeys(), r.agentSecrets(), config.databasePassword(), []string{r.searchKey()})
	for _, s := range named {
		values = append(values, s.Value)
	}
	token, err := os.ReadFile(config.tokenFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("the token cannot be read, so it could not be masked: %w", err)
	}
	return vault, secrets.NewMasker(append(values, string(token))...), nil
}

func (r registry) namedSecrets() (named []secrets.Secret, err error) {
	for _, name := range slices.Sorted(maps.Keys(r.Secrets)) {
		s := r.Secrets[name]
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

// checkLengths finds keys that are too short to be masked, as the vault does it for secrets with a name.
func (r registry) checkLengths() error {
	for _, name := range slices.Sorted(maps.Keys(r.Models.Models)) {
		if err := checkLength(domain.Pointer("models", name, "apiKeyEnv"), r.Models.Models[name].APIKeyEnv); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.MCPServers)) {
		headers := r.MCPServers[name].HeadersEnv
		for _, header := range slices.Sorted(maps.Keys(headers)) {
			if err := checkLength(domain.Pointer("mcpServers", name, "headersEnv", header), headers[header]); err != nil {
				return err
			}
		}
	}
	if r.WebSearch == nil {
		return nil
	}
	return checkLength(domain.Pointer("webSearch", "apiKeyEnv"), r.WebSearch.APIKeyEnv)
}

// checkLength checks the credential alone, after a scheme such as "Bearer …".
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

func (r registry) modelKeys() (values []string) {
	for _, m := range r.Models.Models {
		if m.APIKeyEnv != "" {
			values = append(values, os.Getenv(m.APIKeyEnv))
		}
	}
	return values
}

// agentSecrets are what agents and MCP servers are given under a name that secrets have, and all headers: whatever they
// are called, they are there to sign in.
func (r registry) agentSecrets() (values []string) {
	for _, a := range r.Agents {
		values = append(values, suspects(a.Env, a.SetEnv)...)
	}
	for _, server := range r.MCPServers {
		values = append(values, suspects(server.Env, server.SetEnv)...)
		for _, variable := range server.HeadersEnv {
			value := os.Getenv(variable)
			_, credential, _ := strings.Cut(value, " ") // of "Bearer …"
			values = append(values, value, credential)
		}
	}
	return values
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

// databasePassword is what the driver takes for it, in whichever form it is said, and what an address says there: also
// where the driver cannot read the rest of it.
func (c Config) databasePassword() []string {
	passwords := []string{c.storeConfig().Password()}
	if address, err := url.Parse(c.DatabaseURL); err == nil {
		password, _ := address.User.Password()
		passwords = append(passwords, password, address.Query().Get("password"), address.Query().Get("sslpassword"))
	}
	return passwords
}

// maskLog makes m the masker of the process's log. A log that nobody set up, as in a test, stays as it is: Go's own
// handler, put behind another one, waits for itself.
func maskLog(m *secrets.Masker) {
	if handler, ours := slog.Default().Handler().(*secrets.Handler); ours {
		slog.SetDefault(slog.New(secrets.NewHandler(handler, m)))
	}
}

// logMasker is the masker of the log, which knows more secrets than any other of this process. Without a log it is nil, which knows
// only the shapes of keys.
func logMasker() *secrets.Masker {
	if handler, ours := slog.Default().Handler().(*secrets.Handler); ours {
		return handler.Masker()
	}
	return nil
}

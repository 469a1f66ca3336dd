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
	As  string `yaml:"as"`  // what a command has it in; empty: the same
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
		place := "/secrets/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
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

// databasePassword is none or one, as it stands in the address and as what it says there.
func (c Config) databasePassword() []string {
	address, err := url.Parse(c.DatabaseURL)
	if err != nil || address.User == nil {
		return nil
	}
	password, _ := address.User.Password()
	return []string{password, address.Query().Get("password")}
}

// maskLog has the process's log mask with m from now on. A log that nobody set up, as in a test, stays as it is: Go's own
// handler, put behind another one, waits for itself.
func maskLog(m *secrets.Masker) {
	if handler, ours := slog.Default().Handler().(*secrets.Handler); ours {
		slog.SetDefault(slog.New(secrets.NewHandler(handler, m)))
	}
}

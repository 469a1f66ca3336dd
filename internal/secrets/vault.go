package secrets

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// Secret is a value that has a name. It prints as its name.
type Secret struct {
	Name     string // agents and models refer to it by this
	From     string // where the operator puts it, for messages: a variable of the server
	Variable string // the variable of the command
	Value    string `json:"-"` // empty: not available
}

// Format writes the name, whatever the verb: a secret that is printed is an accident.
func (s Secret) Format(out fmt.State, _ rune) { _, _ = io.WriteString(out, s.Name) }

// Vault holds secrets by name. It never changes. A nil Vault holds none.
type Vault struct {
	secrets map[string]Secret
}

// NewVault returns a vault of the secrets. Its errors point at /secrets/NAME.
func NewVault(list ...Secret) (*Vault, error) {
	v := &Vault{secrets: map[string]Secret{}}
	owners := map[string]string{} // of variables
	for _, s := range list {
		if err := s.check(); err != nil {
			return nil, err
		}
		if _, twice := v.secrets[s.Name]; twice {
			return nil, domain.Invalid("/secrets/"+s.Name, "there are two secrets of this name")
		}
		if other, taken := owners[s.Variable]; taken {
			return nil, domain.Invalid("/secrets/"+s.Name+"/as", "the secret %q is given as %s already; a command may have both", other, s.Variable)
		}
		owners[s.Variable] = s.Name
		v.secrets[s.Name] = s
	}
	return v, nil
}

var (
	names     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)
)

func (s Secret) check() error {
	switch {
	case !names.MatchString(s.Name):
		return domain.Invalid(domain.Pointer("secrets", s.Name), "a secret's name has 1 to 100 letters, digits, dots, dashes and underscores, unlike %q", s.Name)
	case !variables.MatchString(s.Variable):
		return domain.Invalid("/secrets/"+s.Name+"/as", "%q is no name of a variable", s.Variable)
	case Steers(s.Variable):
		return domain.Invalid("/secrets/"+s.Name+"/as", "%s tells programs what to do; a secret cannot be given in it", s.Variable)
	case s.Value != "" && len(strings.TrimSpace(s.Value)) < MinLength:
		return domain.Invalid("/secrets/"+s.Name, "its value is shorter than %d bytes, so it could not be masked where it shows up", MinLength)
	case strings.ContainsRune(s.Value, 0):
		return domain.Invalid("/secrets/"+s.Name, "its value holds a byte 0, and no variable can")
	}
	return nil
}

// steering are variables that shells and interpreters do something on. A secret there would break each command that is
// given it, and some would run it.
var steering = []string{
	"PATH", "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"IFS", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "CDPATH", "GLOBIGNORE", "PROMPT_COMMAND", "PS1", "PS2", "PS4", "ZDOTDIR",
	"EDITOR", "VISUAL", "PAGER", "BROWSER", "GIT_EXTERNAL_DIFF", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PAGER", "GIT_EDITOR",
	"GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_DIR", "SSH_ASKPASS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PERL5LIB", "PERL5OPT",
	"RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH", "JAVA_TOOL_OPTIONS", "CLASSPATH",
}

// Steers reports whether a variable controls what programs do. It tells also of families. Those that begin with SIGNOFF_ are the server's own.
func Steers(variable string) bool {
	family := func(prefix string) bool { return strings.HasPrefix(variable, prefix) }
	return slices.Contains(steering, variable) ||
		slices.ContainsFunc([]string{"LD_", "DYLD_", "LC_", "XDG_", "BASH_FUNC_", "GIT_CONFIG", "SIGNOFF_"}, family)
}

// Environment returns the variables of the named secrets, as NAME=value, each once. A secret that is not there or has no
// value is an error: a command without it would do something else than what was asked for.
func (v *Vault) Environment(names []string) (variables []string, err error) {
	for _, name := range names {
		if !v.Has(name) {
			return nil, domain.Errorf(domain.CodeUnknownSecret, "There is no secret %q; %s.", name, v.format())
		}
		s := v.secrets[name]
		if s.Value == "" {
			origin := "what holds it"
			if s.From != "" {
				origin = "the variable " + s.From
			}
			return nil, domain.Errorf(domain.CodeUnknownSecret, "The secret %q has no value: %s was empty when the server started.", name, origin)
		}
		if variable := s.Variable + "=" + s.Value; !slices.Contains(variables, variable) {
			variables = append(variables, variable)
		}
	}
	return variables, nil
}

// Has reports whether there is a secret of this name, with a value or without.
func (v *Vault) Has(name string) bool {
	if v == nil {
		return false
	}
	_, has := v.secrets[name]
	return has
}

// Names are all names, in their order.
func (v *Vault) Names() []string {
	if v == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(v.secrets))
}

// Info describes a secret without its value.
type Info struct {
	Name, From, Variable string
	Available            bool // it has a value
}

// Secrets lists the secrets without their values, by name.
func (v *Vault) Secrets() (infos []Info) {
	for _, name := range v.Names() {
		s := v.secrets[name]
		infos = append(infos, Info{Name: name, From: s.From, Variable: s.Variable, Available: s.Value != ""})
	}
	return infos
}

// Format writes the names, whatever the verb.
func (v *Vault) Format(out fmt.State, _ rune) { _, _ = io.WriteString(out, v.format()) }

func (v *Vault) format() string {
	if all := v.Names(); len(all) > 0 {
		return "there are " + strings.Join(all, ", ")
	}
	return "there are none"
}

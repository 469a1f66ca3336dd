package mcp

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/launch"
)

// Server is a tool server that executions may use. It is either a program, spoken to over its standard streams, or an address.
type Server struct {
	Tenants      []domain.TenantID // that may use it; nil: all
	Required     bool              // an execution that cannot use it fails; otherwise it goes on without
	TrustHints   bool              // its readOnlyHint counts as the truth
	PinOff       bool              // an operator's rule covers a changed definition, too
	StartTimeout time.Duration     // until it has named its tools; 0: [DefaultStartTimeout]
	CallTimeout  time.Duration     // of one call; 0: [DefaultCallTimeout]

	Command   string
	Args      []string
	Env       []string          // names, passed on from Signoff's own environment; each must be set there
	SetEnv    map[string]string // fixed values
	SecretEnv map[string]string // variable → Signoff's variable that holds its value: the operator's named secrets

	// Environment is the name of the operator's environment that the program runs in. Empty: what the execution sees.
	Environment string
	Mounts      map[string]string // besides: absolute path → read or write
	Hosts       []string          // public hosts that it reaches, beside the networks of its environment
	KeepRunning bool              // its memory matters: an execution with a live process of it is not parked

	URL        string
	Transport  string            // [TransportHTTP] or [TransportSSE]; empty: HTTP
	HeadersEnv map[string]string // header → Signoff's variable that holds its whole value
	BearerEnv  string            // Signoff's variable that holds a bearer token
	OAuth      *OAuth            // nil: the server needs no sign-in
}

// OAuth says how Signoff gets the tokens of a server with a URL.
type OAuth struct {
	Grant           string // [GrantAuthorizationCode] or [GrantClientCredentials]; empty: the former
	ClientID        string // empty: Signoff registers by ClientMetadata, or dynamically
	ClientSecretEnv string // Signoff's variable that holds the secret of the client; empty: a public client
	ClientMetadata  string // https address of the client's metadata document, which is its client id
	Issuer          string // the authorization server that the credentials belong to; empty: the one that the server names
	Scopes          []string
}

// Transports of MCP servers with a URL.
const (
	TransportHTTP = "http"
	TransportSSE  = "sse"
)

// Grants of OAuth.
const (
	GrantAuthorizationCode = "authorizationCode"
	GrantClientCredentials = "clientCredentials"
)

// Time-outs of servers that set none.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 2 * time.Minute
)

// withDefaults fills in what the operator has left out.
func (s Server) withDefaults() Server {
	s.StartTimeout = cmp.Or(s.StartTimeout, DefaultStartTimeout)
	s.CallTimeout = cmp.Or(s.CallTimeout, DefaultCallTimeout)
	if s.OAuth != nil {
		signIn := *s.OAuth
		signIn.Grant = cmp.Or(signIn.Grant, GrantAuthorizationCode)
		s.OAuth = &signIn
	}
	return s
}

// Serves reports whether the tenant may use the server.
func (s Server) Serves(tenant domain.TenantID) bool {
	return s.Tenants == nil || slices.Contains(s.Tenants, tenant)
}

// IsProgram reports whether the server is a program that is started, and not an address.
func (s Server) IsProgram() bool { return s.URL == "" }

// Variables are Signoff's own variables whose values the server is given, but for those of a sign-in by [OAuth].
func (s Server) Variables() []string {
	names := slices.Concat(s.Env, slices.Collect(maps.Values(s.SecretEnv)), slices.Collect(maps.Values(s.HeadersEnv)))
	if s.BearerEnv != "" {
		names = append(names, s.BearerEnv)
	}
	return names
}

// check looks at one entry; place is its pointer, with a slash at the end.
func (s Server) check(place string) error {
	if (s.Command == "") == (s.URL == "") {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "an MCP server has either a command or a url")
	}
	if err := s.checkTenants(place); err != nil {
		return err
	}
	for field, timeout := range map[string]time.Duration{"startTimeoutSeconds": s.StartTimeout, "callTimeoutSeconds": s.CallTimeout} {
		if timeout < 0 || timeout > time.Hour {
			return domain.Invalid(place+field, "it is 1 to 3600 seconds, not %.0f", timeout.Seconds())
		}
	}
	if s.Command != "" {
		return s.checkCommand(place)
	}
	return s.checkAddress(place)
}

// checkTenants finds names that no key has. An empty list would lock everybody out, which nobody means.
func (s Server) checkTenants(place string) error {
	if s.Tenants != nil && len(s.Tenants) == 0 {
		return domain.Invalid(place+"tenants", "an empty list serves nobody; leave the field out to serve all tenants")
	}
	for i, tenant := range s.Tenants {
		at := place + "tenants/" + strconv.Itoa(i)
		if !tenant.Valid() {
			return domain.Invalid(at, "%q is not the name of a tenant: a tenant has 1 to 100 printable characters", tenant)
		}
		if slices.Contains(s.Tenants[:i], tenant) {
			return domain.Invalid(at, "the tenant %q stands there twice", tenant)
		}
	}
	return nil
}

func (s Server) checkCommand(place string) error {
	if s.Transport != "" || s.HeadersEnv != nil || s.BearerEnv != "" || s.OAuth != nil {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "transport, headersEnv, bearerEnv and oauth belong to a url, not to a command")
	}
	if err := launch.CheckProgram(place, s.Command, s.Args); err != nil {
		return err
	}
	if err := launch.CheckVariables(place, s.Env, s.SetEnv); err != nil {
		return err
	}
	for _, variable := range slices.Sorted(maps.Keys(s.SecretEnv)) {
		if err := s.checkSecret(place, variable); err != nil {
			return err
		}
	}
	return launch.CheckHosts(place, s.Hosts)
}

// checkSecret refuses a variable that has two values. The variable of a secret is valid: the section secrets checks it.
func (s Server) checkSecret(place, variable string) error {
	if _, fixed := s.SetEnv[variable]; fixed || slices.Contains(s.Env, variable) {
		return domain.Invalid(place+"secrets", "a secret is given as %s, which env or setEnv sets, too", variable)
	}
	return nil
}

var headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func (s Server) checkAddress(place string) error {
	if s.Args != nil || s.Env != nil || s.SetEnv != nil || s.SecretEnv != nil {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "args, env, setEnv and secrets belong to a command, not to a url")
	}
	if s.Environment != "" || s.Mounts != nil || s.Hosts != nil || s.KeepRunning {
		return domain.Invalid(strings.TrimSuffix(place, "/"), "environment, mounts, hosts and keepRunning belong to a command, not to a url")
	}
	address, err := url.Parse(s.URL)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return domain.Invalid(place+"url", "it is not an http or https address")
	case address.User != nil: // it would appear in logs
		return domain.Invalid(place+"url", "a user in an address is no place for a secret; headersEnv is")
	case s.Transport != "" && s.Transport != TransportHTTP && s.Transport != TransportSSE:
		return domain.Invalid(place+"transport", "it is %s or %s, not %q", TransportHTTP, TransportSSE, s.Transport)
	}
	for _, header := range slices.Sorted(maps.Keys(s.HeadersEnv)) {
		at := place + "headersEnv" + domain.Pointer(header)
		if !headerForm.MatchString(header) {
			return domain.Invalid(at, "%q is not the name of a header", header)
		}
		if err := launch.CheckVariable(at, s.HeadersEnv[header]); err != nil {
			return err
		}
		if strings.EqualFold(header, "Authorization") && (s.BearerEnv != "" || s.OAuth != nil) {
			return domain.Invalid(at, "the header Authorization is set by bearerEnv or oauth already")
		}
	}
	if s.BearerEnv != "" {
		if err := launch.CheckVariable(place+"bearerEnv", s.BearerEnv); err != nil {
			return err
		}
		if s.OAuth != nil {
			return domain.Invalid(place+"bearerEnv", "a server signs in by bearerEnv or by oauth, not by both")
		}
	}
	if s.OAuth != nil {
		return s.OAuth.check(place + "oauth/")
	}
	return nil
}

func (o OAuth) check(place string) error {
	switch {
	case o.Grant != "" && o.Grant != GrantAuthorizationCode && o.Grant != GrantClientCredentials:
		return domain.Invalid(place+"grant", "it is %s or %s, not %q", GrantAuthorizationCode, GrantClientCredentials, o.Grant)
	case o.Grant == GrantClientCredentials && o.ClientID == "":
		return domain.Invalid(place+"clientId", "missing: client credentials belong to a registered client")
	case o.Grant == GrantClientCredentials && o.ClientSecretEnv == "":
		return domain.Invalid(place+"clientSecretEnv", "missing: a client without a secret gets no client credentials")
	case o.ClientSecretEnv != "" && o.ClientID == "":
		return domain.Invalid(place+"clientId", "missing: clientSecretEnv is the secret of a registered client")
	case o.ClientSecretEnv != "" && o.Issuer == "": // the MCP server chooses the authorization server, and could have the secret sent to its own
		return domain.Invalid(place+"issuer", "missing: the secret of a client belongs to one authorization server")
	case o.ClientMetadata != "" && o.ClientID != "":
		return domain.Invalid(place+"clientMetadataUrl", "the address of the metadata document is a client id, and clientId is another one")
	case strings.ContainsFunc(o.ClientID, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return domain.Invalid(place+"clientId", "it holds a control character")
	}
	if o.ClientSecretEnv != "" {
		if err := launch.CheckVariable(place+"clientSecretEnv", o.ClientSecretEnv); err != nil {
			return err
		}
	}
	// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#client-id-metadata-documents
	if o.ClientMetadata != "" {
		if address, err := url.Parse(o.ClientMetadata); err != nil || address.Scheme != "https" || address.Host == "" || strings.Trim(address.Path, "/") == "" || address.User != nil || address.Fragment != "" {
			return domain.Invalid(place+"clientMetadataUrl", "it is not an https address with a path")
		}
	}
	if o.Issuer != "" {
		if address, err := url.Parse(o.Issuer); err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" || address.User != nil || address.RawQuery != "" || address.Fragment != "" {
			return domain.Invalid(place+"issuer", "it is not an http or https address without a query")
		}
	}
	for i, scope := range o.Scopes {
		if !scopeForm.MatchString(scope) {
			return domain.Invalid(place+"scopes/"+strconv.Itoa(i), "%q is not a scope", scope)
		}
	}
	return nil
}

// scopeForm is that of one scope. https://www.rfc-editor.org/rfc/rfc6749#section-3.3
var scopeForm = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,200}$`)

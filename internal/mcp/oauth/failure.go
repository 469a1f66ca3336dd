package oauth

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"signoff/internal/domain"
)

// unauthorized is the error of a server that Signoff is not signed in to as it should be. Clients see its message.
func unauthorized(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.CodeMCPServerUnavailable, format, args...)
}

// loginCommand is what an operator types to sign in.
func loginCommand(tenant domain.TenantID, server string) string {
	command := "signoff mcp login " + server
	if tenant != domain.DefaultTenant {
		command += " --tenant " + shellWord(string(tenant))
	}
	return "`" + command + "`"
}

func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// plainWord is a text that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]+$`)

// missingScopes is the error where a sign-in lacks scopes. The server chooses their names, and a person copies the command into a shell.
func missingScopes(tenant domain.TenantID, server string, scopes []string) *domain.Error {
	if len(scopes) == 0 {
		return unauthorized("MCP server %q refuses the request: the sign-in lacks a scope, and the server does not say which. Sign in again with %s.",
			server, loginCommand(tenant, server))
	}
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = strconv.Quote(scope)
	}
	flag := "…"
	if all := strings.Join(scopes, ","); plainWord.MatchString(all) {
		flag = all
	}
	command := strings.TrimSuffix(loginCommand(tenant, server), "`") + " --scopes " + flag + "`"
	return unauthorized("MCP server %q refuses the request: the sign-in lacks %s. Sign in again with %s.", server, strings.Join(names, ", "), command)
}

// refusal is the answer of an authorization server that says no. See RFC 6749, section 5.2.
type refusal struct {
	code        string
	description string // as the authorization server has it, bounded; it may quote what it was sent
}

func (r *refusal) Error() string { return "the authorization server answers " + r.code }

// dead reports whether the refresh token is gone for good. A client that was registered dynamically is gone with its registration; one that the operator
// has configured may only have the wrong secret.
func (r *refusal) dead(by client) bool {
	return r.code == "invalid_grant" || by.Dynamic && (r.code == "invalid_client" || r.code == "unauthorized_client")
}

// tokenFailure cuts the body out of an error of a token endpoint: it may quote the tokens that were sent.
func tokenFailure(err error) error {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) {
		return err
	}
	if code := answer.ErrorCode; codeForm.MatchString(code) {
		return &refusal{code, printable(answer.ErrorDescription)}
	}
	status := "an error"
	if answer.Response != nil {
		status = "status " + strconv.Itoa(answer.Response.StatusCode)
	}
	return fmt.Errorf("the authorization server answers with %s", status)
}

var codeForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

const descriptionBytes = 300

// printable is a text of a stranger for the terminal of an operator.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text[:min(len(text), descriptionBytes)], ""))
	return strings.TrimSpace(text)
}

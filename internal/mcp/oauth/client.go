package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"signoff/internal/mcp"
)

// client is Signoff at an authorization server.
type client struct {
	ID      string `json:"id"`
	Secret  string `json:"secret,omitempty"` // stored only where Dynamic is set
	Method  string `json:"method"`           // how it proves itself to the token endpoint
	Dynamic bool   `json:"dynamic,omitempty"`
}

// How a client proves itself: RFC 7591, section 2.
const (
	methodPost  = "client_secret_post"
	methodBasic = "client_secret_basic"
	methodNone  = "none"
)

// configured is the client that the operator has registered. found is false where there is none.
func (c *Credentials) configured(server mcp.Server, at *oauthex.AuthServerMeta) (by client, found bool, err error) {
	if server.OAuth.ClientID == "" {
		return client{}, false, nil
	}
	by = client{ID: server.OAuth.ClientID}
	if variable := server.OAuth.ClientSecretEnv; variable != "" {
		if by.Secret, _ = c.config.Lookup(variable); strings.TrimSpace(by.Secret) == "" {
			return by, false, fmt.Errorf("the variable %s, which holds the secret of the client, is not set", variable)
		}
		by.Secret = strings.TrimSpace(by.Secret)
	}
	by.Method, err = methodOf(by.Secret, at.TokenEndpointAuthMethodsSupported)
	return by, true, err
}

// methodOf chooses how a client proves itself. OAuth 2.1 prefers the secret in the body. Without a list, RFC 8414 means the header.
func methodOf(secret string, supported []string) (string, error) {
	switch {
	case secret == "":
		return methodNone, nil
	case slices.Contains(supported, methodPost):
		return methodPost, nil
	case len(supported) == 0, slices.Contains(supported, methodBasic):
		return methodBasic, nil
	default:
		return "", errors.New("the authorization server takes no client secret, neither in the body nor in the header")
	}
}

// register finds or makes the client of a sign-in, in the order of
// https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration: the configured one, the metadata document where the
// authorization server knows such documents, and a dynamic registration last.
func (c *Credentials) register(ctx context.Context, through *http.Client, server mcp.Server, at *oauthex.AuthServerMeta, redirect string) (client, error) {
	if by, found, err := c.configured(server, at); found || err != nil {
		return by, err
	}
	if server.OAuth.ClientMetadata != "" && at.ClientIDMetadataDocumentSupported {
		return client{ID: server.OAuth.ClientMetadata, Method: methodNone}, nil
	}
	if at.RegistrationEndpoint == "" {
		return client{}, errors.New("the authorization server registers no clients by itself: register Signoff there, and set oauth.clientId in the entry of the server")
	}
	return registerDynamically(ctx, through, at, redirect)
}

func registerDynamically(ctx context.Context, through *http.Client, at *oauthex.AuthServerMeta, redirect string) (client, error) {
	method := methodNone
	for _, one := range []string{methodPost, methodBasic} {
		if slices.Contains(at.TokenEndpointAuthMethodsSupported, one) {
			method = one
			break
		}
	}
	if len(at.TokenEndpointAuthMethodsSupported) == 0 {
		method = methodBasic
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	made, err := oauthex.RegisterClient(ctx, at.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method, ApplicationType: "native", ClientName: "Signoff", SoftwareID: "signoff",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}, through)
	if err != nil {
		return client{}, fmt.Errorf("no registration with the authorization server: %w", registrationFailure(err))
	}
	by := client{ID: made.ClientID, Secret: made.ClientSecret, Method: cmp.Or(made.TokenEndpointAuthMethod, method), Dynamic: true}
	if !clientIDForm(by.ID) {
		return client{}, errors.New("the authorization server registers Signoff under a client id that is not printable")
	}
	if by.Secret == "" {
		by.Method = methodNone
	}
	if !slices.Contains([]string{methodPost, methodBasic, methodNone}, by.Method) {
		return client{}, errors.New("the authorization server wants a proof of the client that Signoff cannot give")
	}
	return by, nil
}

// clientIDForm is that of RFC 6749, appendix A.1. The database would change other characters, and then nothing could be decrypted.
func clientIDForm(id string) bool {
	return id != "" && len(id) <= 2048 && !strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r > 0x7e })
}

// registrationFailure cuts the body out of an error: it may hold the secret of the new client.
func registrationFailure(err error) error {
	var answer *oauthex.ClientRegistrationError
	var unreachable *url.Error
	switch {
	case errors.As(err, &answer) && codeForm.MatchString(answer.ErrorCode):
		return described(&refusal{answer.ErrorCode, printable(answer.ErrorDescription)})
	case errors.As(err, &unreachable):
		return unreachable
	default:
		return errors.New("it does not answer as it should")
	}
}

// token asks a token endpoint for tokens. The grant is in params; clientcredentials is the one grant of the library that takes any parameters.
func (by client) token(ctx context.Context, through *http.Client, endpoint string, params url.Values) (*oauth2.Token, error) {
	style := oauth2.AuthStyleInParams // with "none" as well: then it is the id alone
	if by.Method == methodBasic {
		style = oauth2.AuthStyleInHeader
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, through), stepTimeout)
	defer cancel()
	config := clientcredentials.Config{ClientID: by.ID, ClientSecret: by.Secret, TokenURL: endpoint, AuthStyle: style, EndpointParams: params}
	token, err := config.Token(ctx)
	if err != nil {
		return nil, tokenFailure(err)
	}
	if !strings.EqualFold(cmp.Or(token.TokenType, "Bearer"), "Bearer") {
		return nil, errors.New("the authorization server gives a token that is no bearer token")
	}
	if strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= 0x20 || r > 0x7e }) {
		return nil, errors.New("the authorization server gives a token that fits in no header")
	}
	return token, nil
}

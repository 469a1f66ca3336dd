package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"signoff/internal/domain"
)

// LinkPath is the route of the page; the token follows.
const LinkPath = "/approve/"

// LinkLife is the longest life of a link, even if its approval never expires.
const LinkLife = 7 * 24 * time.Hour

// Grant lets the bearer of a link decide one approval, once, until it expires.
type Grant struct {
	Approval domain.ApprovalID `json:"a"`
	Tenant   domain.TenantID   `json:"t"`
	Expires  time.Time         `json:"e"`
	For      string            `json:"f"`           // who it was made for
	Key      string            `json:"k,omitempty"` // the id of the key that asked for it: the link ends with the key
	Webhook  string            `json:"w,omitempty"` // the webhook that it was sent to: the link ends with the webhook
}

// Links makes and reads links. Their token is signed, not encrypted, and stored nowhere.
type Links struct {
	key    []byte // shared by all replicas
	public string // where people reach this server, without a slash at the end; or empty
}

// NewLinks returns links with a signing key.
func NewLinks(key []byte, publicURL string) *Links {
	return &Links{key: key, public: strings.TrimRight(publicURL, "/")}
}

// Public reports whether links are whole URLs.
func (l *Links) Public() bool { return l != nil && l.public != "" }

// URL returns the link of a grant: a whole URL if the server's own address is known, otherwise a path.
func (l *Links) URL(grant Grant) string { return l.public + LinkPath + l.token(grant) }

func (l *Links) token(grant Grant) string {
	grant.Expires = grant.Expires.UTC().Truncate(time.Second)
	payload := base64.RawURLEncoding.EncodeToString(domain.Encode(grant))
	return payload + "." + l.signature(payload)
}

func (l *Links) signature(payload string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte("link." + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Read returns the grant of a token. A forged, malformed or expired token is the same domain.CodeNotFound. Read checks the signature first,
// in constant time.
func (l *Links) Read(token string, now time.Time) (Grant, error) {
	payload, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(l.signature(payload))) {
		return Grant{}, errNoLink()
	}
	var grant Grant
	decoded, err := base64.RawURLEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(decoded, &grant)
	}
	if err != nil || !now.Before(grant.Expires) {
		return Grant{}, errNoLink()
	}
	return grant, nil
}

func errNoLink() error {
	return domain.Errorf(domain.CodeNotFound, "The link is not of this server, or has expired.")
}

// To returns a link to an approval for a person, made with a key, and its expiry.
func (l *Links) To(approval domain.Approval, name, key string, now time.Time) (url string, expires time.Time) {
	expires = linkExpiry(approval.Expires, now).UTC().Truncate(time.Second)
	return l.URL(Grant{Approval: approval.ID, Tenant: approval.Tenant, Expires: expires, For: name, Key: key}), expires
}

// linkExpiry returns when a link ends, with the approval at the latest.
func linkExpiry(expires *time.Time, made time.Time) time.Time {
	end := made.Add(LinkLife)
	if expires != nil && expires.Before(end) {
		return *expires
	}
	return end
}

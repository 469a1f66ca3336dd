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

// LinkLife is how long a link holds at most, also where its approval never expires.
const LinkLife = 7 * 24 * time.Hour

// Grant is what a link lets its bearer do: decide one approval, once, until it expires.
type Grant struct {
	Approval domain.ApprovalID `json:"a"`
	Tenant   domain.TenantID   `json:"t"`
	Expires  time.Time         `json:"e"`
	For      string            `json:"f"`           // who it was made for
	Key      string            `json:"k,omitempty"` // the id of the key that asked for it: the link ends with the key
	Webhook  string            `json:"w,omitempty"` // the webhook that it was sent to: the link ends with the webhook
}

// Links makes and reads links. The token in them is signed, not encrypted, and kept nowhere.
type Links struct {
	key    []byte // shared by all replicas
	public string // where people reach this server, without a slash at the end; or empty
}

// NewLinks returns links under a key.
func NewLinks(key []byte, publicURL string) *Links {
	return &Links{key: key, public: strings.TrimRight(publicURL, "/")}
}

// Public reports whether links are whole URLs.
func (l *Links) Public() bool { return l != nil && l.public != "" }

// URL is the link of a grant: whole where the server's own address is known, and otherwise a path.
func (l *Links) URL(grant Grant) string { return l.public + LinkPath + l.token(grant) }

func (l *Links) token(grant Grant) string {
	grant.Expires = grant.Expires.UTC().Truncate(time.Second)
	said := base64.RawURLEncoding.EncodeToString(domain.Encode(grant))
	return said + "." + l.signature(said)
}

func (l *Links) signature(said string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte("link." + said))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Read returns what a token grants. One that is forged, malformed or over is the same domain.CodeNotFound; nothing of it is
// looked at before the signature, whose comparison takes the same time wherever it differs.
func (l *Links) Read(token string, now time.Time) (Grant, error) {
	said, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(l.signature(said))) {
		return Grant{}, errNoLink()
	}
	var grant Grant
	decoded, err := base64.RawURLEncoding.DecodeString(said)
	if err == nil {
		err = json.Unmarshal(decoded, &grant)
	}
	if err != nil || !now.Before(grant.Expires) {
		return Grant{}, errNoLink()
	}
	return grant, nil
}

func errNoLink() error {
	return domain.Errorf(domain.CodeNotFound, "The link is not one of this server, or does not hold any more.")
}

// To is a link to an approval for somebody, asked for with a key, and when it ends.
func (l *Links) To(approval domain.Approval, whom, key string, now time.Time) (url string, expires time.Time) {
	expires = linkExpiry(approval.Expires, now).UTC().Truncate(time.Second)
	return l.URL(Grant{Approval: approval.ID, Tenant: approval.Tenant, Expires: expires, For: whom, Key: key}), expires
}

// linkExpiry is when a link to an approval ends that was made at some time: with the approval at the latest.
func linkExpiry(expires *time.Time, made time.Time) time.Time {
	end := made.Add(LinkLife)
	if expires != nil && expires.Before(end) {
		return *expires
	}
	return end
}

package webhooks

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	minSecret    = 24
	maxSecret    = 64
)

func newSecret() string {
	key := make([]byte, secretBytes)
	rand.Read(key) // never fails: crypto/rand ends the program where there is no randomness
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// checkSecret refuses secrets that other implementations would read differently. Its error leaves the secret out.
func checkSecret(secret string) error {
	encoded, isOne := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !isOne || err != nil || len(key) < minSecret || len(key) > maxSecret {
		return domain.Invalid("/secret", "A secret is %s and the base64 of %d to %d bytes.", secretPrefix, minSecret, maxSecret)
	}
	return nil
}

// sign returns the header webhook-signature, with one signature for each secret, so that a receiver may have the old or the new one.
func sign(secrets []string, id string, at time.Time, body []byte) string {
	var all []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
		if secret == "" || err != nil {
			continue
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}

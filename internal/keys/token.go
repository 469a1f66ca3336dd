package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"regexp"
)

const (
	prefix      = "sgn"
	idBytes     = 8
	secretBytes = 32
)

// newToken returns a new token, its id and the hash of its secret.
func newToken() (token, id string, hash []byte) {
	id = randomHex(idBytes)
	secret := randomHex(secretBytes)
	return prefix + "_" + id + "_" + secret, id, hashSecret(secret)
}

var tokenForm = regexp.MustCompile(fmt.Sprintf("^%s_([0-9a-f]{%d})_([0-9a-f]{%d})$", prefix, 2*idBytes, 2*secretBytes))

// parseToken splits a token. It is strict, so that malformed tokens never reach the database.
func parseToken(token string) (id, secret string, ok bool) {
	parts := tokenForm.FindStringSubmatch(token)
	if parts == nil {
		return "", "", false
	}
	return parts[1], parts[2], true
}

func hashSecret(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// sameSecret compares in constant time. An empty stored hash matches no secret.
func sameSecret(secret string, hash []byte) bool {
	return len(hash) == sha256.Size && subtle.ConstantTimeCompare(hashSecret(secret), hash) == 1
}

func randomHex(bytes int) string {
	buffer := make([]byte, bytes)
	rand.Read(buffer) // never fails: crypto/rand ends the program if there is no randomness
	return hex.EncodeToString(buffer)
}

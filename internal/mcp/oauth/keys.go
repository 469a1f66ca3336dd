package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Keys encrypt tokens before they are stored. The first one encrypts, and all of them decrypt: that is how keys are replaced. The zero value has none.
type Keys struct{ all []cipher.AEAD }

const keyBytes = 32

// MakeKey says how an operator gets a key.
const MakeKey = "make one with `openssl rand -base64 32`"

// ParseKeys reads keys that are separated by commas, each 32 bytes in base64. Its error never holds a key.
func ParseKeys(text string) (keys Keys, err error) {
	if strings.TrimSpace(text) == "" {
		return keys, nil
	}
	texts := strings.Split(text, ",")
	for i, one := range texts {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(one))
		if err != nil || len(key) != keyBytes {
			return Keys{}, fmt.Errorf("key %d of %d is not the base64 of %d bytes; %s", i+1, len(texts), keyBytes, MakeKey)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return Keys{}, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return Keys{}, err
		}
		keys.all = append(keys.all, aead)
	}
	return keys, nil
}

// Usable reports whether there is a key.
func (k Keys) Usable() bool { return len(k.all) > 0 }

// form is the first byte of everything that is sealed. Another form will have another one.
const form = 1

// seal encrypts plain. Only together with the same context it can be opened again: a row that is copied to another tenant is worth nothing there.
func (k Keys) seal(plain, context []byte) []byte {
	return k.all[0].Seal([]byte{form}, nil, plain, context) //nolint:gosec // the cipher makes the nonce, and wants none
}

var errSealed = errors.New("oauth: no key opens it")

// open decrypts. older reports that it was not the first key that encrypted.
func (k Keys) open(sealed, context []byte) (plain []byte, older bool, err error) {
	if len(sealed) == 0 || sealed[0] != form {
		return nil, false, errSealed
	}
	for i, key := range k.all {
		if plain, err := key.Open(nil, nil, sealed[1:], context); err == nil {
			return plain, i > 0, nil
		}
	}
	return nil, false, errSealed
}

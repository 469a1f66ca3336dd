// Package jcs writes JSON in its canonical form (RFC 8785), for hashes: two documents with the same value have the same bytes.
package jcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the one spelling of a document (RFC 8785), or an error where it has none.
//
// The canonical spelling of a number is that of the nearest float64. 9007199254740993 would become …992: who approves
// that one record is deleted would have approved the other one, under the same hash. A number that does not survive has
// no canonical form.
func Canonical(document []byte) ([]byte, error) {
	canonical := jsontext.Value(bytes.Clone(document))
	for numbers := jsontext.NewDecoder(bytes.NewReader(document)); ; {
		token, err := numbers.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("no canonical form: %w", err)
		}
		if token.Kind() == '0' && !survives(token.String()) {
			return nil, fmt.Errorf("no canonical form: a float64 does not hold the number %.40s", token.String())
		}
	}
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("no canonical form: %w", err)
	}
	return canonical, nil
}

// maxNumber bounds the digits of a number: to compare a million of them exactly takes long.
const maxNumber = 1000

// survives reports whether a number stays the same as a float64.
func survives(written string) bool {
	float, err := strconv.ParseFloat(written, 64)
	if err != nil || len(written) > maxNumber {
		return false
	}
	if float == 0 { // 1e-999999 is no zero, and to write it out as a fraction takes a million digits
		digits, _, _ := strings.Cut(strings.ToLower(written), "e")
		return strings.Trim(digits, "-0.") == ""
	}
	before, readable := new(big.Rat).SetString(written)
	after, _ := new(big.Rat).SetString(strconv.FormatFloat(float, 'g', -1, 64))
	return readable && before.Cmp(after) == 0
}

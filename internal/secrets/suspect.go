package secrets

import (
	"slices"
	"strings"
)

// Suspect tells by its name whether a variable or a header holds a secret.
func Suspect(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTHORIZATION"},
		func(word string) bool { return strings.Contains(name, word) })
}

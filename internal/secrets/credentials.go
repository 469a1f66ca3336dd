package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"signoff/internal/domain"
)

// MaxCredentials bounds the values of one file: each costs memory, and time for every text that is masked.
const MaxCredentials = 256

// Credentials returns the values in a file of credentials that nobody may see: those of credential fields in YAML, JSON and INI, with what they
// encode in base64. Of other files, and where no field is one, it returns each run of 16 or more characters without space. A file with more
// than [MaxCredentials] values is an error.
func Credentials(content []byte) ([]string, error) {
	var found credentials
	isStructured := found.readYAML(content) || isINI(string(content)) // JSON is YAML
	found.readFields(string(content), isStructured)
	if !isStructured || len(found) == 0 {
		found = append(found, longRun.FindAllString(string(content), -1)...)
	}
	slices.Sort(found)
	found = slices.DeleteFunc(slices.Compact(found), func(value string) bool { return len(strings.TrimSpace(value)) < MinLength })
	if len(found) > MaxCredentials {
		return nil, domain.Errorf(domain.CodeEnvironmentUnavailable,
			"It holds %d values that would have to be masked, and at most %d can be.", len(found), MaxCredentials)
	}
	return found, nil
}

// longRun is something that a person would not say in a word.
var longRun = regexp.MustCompile(`\S{16,}`)

// credentials collects values.
type credentials []string

// readYAML reads one or more documents. It reports whether they have fields.
func (c *credentials) readYAML(content []byte) bool {
	isStructured := false
	for decoder := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document any
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return isStructured
		case err != nil:
			return json.Valid(content)
		}
		switch document.(type) {
		case map[string]any, []any:
			isStructured = true
		}
		c.walk(document, "", false)
	}
}

// walk takes the texts below fields that hold credentials.
func (c *credentials) walk(node any, name string, isCredential bool) {
	switch value := node.(type) {
	case map[string]any:
		for name, below := range value {
			c.walk(below, name, isCredential || holdsCredential(name))
		}
	case []any:
		for _, below := range value {
			c.walk(below, name, isCredential)
		}
	case string:
		if isCredential && !isPlace(name, value) {
			c.add(value)
		}
	case nil, bool:
	default:
		if isCredential {
			c.add(fmt.Sprint(value))
		}
	}
}

// add takes a value, and what it encodes: a program may print either.
func (c *credentials) add(value string) {
	c.addLines(value)
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	if err != nil || !utf8.Valid(decoded) {
		return
	}
	c.addLines(string(decoded))
	if _, password, isPair := strings.Cut(string(decoded), ":"); isPair && !strings.Contains(password, "\n") { // basic authorization
		*c = append(*c, password)
	}
}

// addLines takes a value and each long line of it, as of a key.
func (c *credentials) addLines(value string) {
	*c = append(*c, value)
	for line := range strings.Lines(value) {
		*c = append(*c, longRun.FindAllString(line, -1)...)
	}
}

// fields are names with their values, however a line of settings writes them, also in a comment; words may have nothing but space between them.
var (
	fields = regexp.MustCompile(name + `[ \t]*[:=][ \t]*` + anyValue)
	words  = regexp.MustCompile(name + `(?:[ \t]*[:=][ \t]*|\s+)` + anyValue)
)

const (
	name     = `["']?([A-Za-z_/][A-Za-z0-9_./:-]*?)["']?`
	anyValue = `(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"',]+))`
)

// passwordFile is a line of .pgpass: host, port, database, user and password.
var passwordFile = regexp.MustCompile(`(?m)^[^\s:#]+:[0-9*]+:[^\s:]+:[^\s:]+:(.+)$`)

// readFields reads line by line. It finds numbers as they are written, and what stands in comments or in a file without a format, as in .netrc.
func (c *credentials) readFields(content string, isStructured bool) {
	field := words
	if isStructured {
		field = fields
	}
	for at := 0; at < len(content); {
		match := field.FindStringSubmatchIndex(content[at:])
		if match == nil {
			break
		}
		group := func(i int) string {
			if match[2*i] < 0 {
				return ""
			}
			return content[at+match[2*i] : at+match[2*i+1]]
		}
		if value := group(2) + group(3) + group(4); holdsCredential(group(1)) && !isPlace(group(1), value) && !isPunctuation(value) {
			c.add(value)
		}
		at += match[3] // the value may be the name of the next: machine HOST password VALUE
		if at < len(content) && (content[at] == '"' || content[at] == '\'') {
			at++
		}
	}
	for _, match := range passwordFile.FindAllStringSubmatch(content, -1) {
		c.add(match[1])
	}
}

// isPunctuation reports whether a text opens something that follows, as | and { do in YAML and JSON.
func isPunctuation(value string) bool { return strings.Trim(value, "|>-+{}[]&*,:=") == "" }

// isINI reports whether a text is sections and settings, and nothing else.
func isINI(content string) bool {
	settings := 0
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#', line[0] == ';', line[0] == '[' && line[len(line)-1] == ']':
		case setting.MatchString(line):
			settings++
		default:
			return false
		}
	}
	return settings > 0 && !passwordFile.MatchString(content)
}

var setting = regexp.MustCompile(`^(export )?[A-Za-z_/][A-Za-z0-9_./: -]*\s*[:=]`)

// credentialNames are parts of the names of fields that hold credentials, in small letters and without dashes.
var credentialNames = []string{
	"token", "password", "passwd", "passphrase", "secret", "credential", "privatekey", "clientkeydata", "keydata", "apikey", "accesskey", "authkey",
	"signingkey", "encryptionkey", "connectionstring",
}

// holdsCredential reports whether a field of this name holds a credential.
func holdsCredential(name string) bool {
	name = strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "/", "", ":", "").Replace(strings.ToLower(name))
	if slices.ContainsFunc([]string{"name", "type", "expiry", "expiration", "expiresin", "expiresat"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return false
	}
	return slices.Contains([]string{"auth", "authorization", "bearer", "cookie", "pass", "pwd", "key", "sas", "pin"}, name) ||
		slices.ContainsFunc(credentialNames, func(part string) bool { return strings.Contains(name, part) })
}

// isPlace reports whether a field says where a credential is, or whom to ask for one, as token_uri and key_file do.
func isPlace(name, value string) bool {
	return placeName.MatchString(name) && place.MatchString(value)
}

var (
	placeName = regexp.MustCompile(`(?i)(ur[il]|file|path|endpoint|key)$`)
	place     = regexp.MustCompile(`^(https://[a-z0-9.-]+(:[0-9]+)?|~|\.{1,2})?(/[a-z0-9._-]{1,32}){1,12}$`)
)

package secrets

import (
	"bytes"
	"strings"
)

// These are the kinds of keys that are more than a run of letters.

// jwt begins every JSON Web Token: it is the base64 of `{"`. Three parts with dots between them follow.
const jwt = "eyJ"

// webToken is what follows it. What has a head and the beginning of claims is taken for one: a log that cuts lines off
// shows claims without their signature.
type webToken struct{}

func (webToken) match(text []byte, i int, end bool) (f find, more bool) {
	const least = 3 // bytes after the prefix, in both parts
	dot := i + length(text[i:min(len(text), i+horizon)], dashed)
	if dot == len(text) {
		return find{}, !end
	}
	if dot-i < least || text[dot] != '.' {
		return find{}, false
	}
	if fits, cut := holds(text, dot+1, jwt); !fits {
		return find{}, cut && !end
	}
	begin := dot + 1 + len(jwt)
	read := begin + length(text[begin:min(len(text), begin+least)], dashed)
	if read-begin < least {
		return find{}, read == len(text) && !end
	}
	return grown(i, text, read, end, claims{}), false
}

// claims are the second part; a dot and the signature may follow.
type claims struct{}

var signature = &run{of: dashed}

func (c claims) grow(text []byte, i int, end bool) (to int, next grower) {
	i += length(text[i:], dashed)
	switch {
	case i == len(text) && !end:
		return i, c
	case i < len(text) && text[i] == '.':
		return signature.grow(text, i+1, end)
	}
	return i, nil
}

// privateKey is what follows "-----BEGIN ": a label, and the key up to its END. A key that is cut off is worth much too, so
// it counts from its first bytes on, and a missing END does not save it; then it ends with what no such key has in it.
type privateKey struct{}

const (
	dashes    = "-----"
	endMarker = "-----END "
	mostLabel = 64
)

func (k privateKey) match(text []byte, i int, end bool) (f find, more bool) {
	const least = 20 // a text about such keys shows only the first line
	begin, cut := label(text, i)
	if begin == 0 {
		return find{}, cut && !end
	}
	if !bytes.Contains(text[i:begin], []byte("PRIVATE KEY")) {
		return find{}, false
	}
	f = grown(i, text, begin, end, k)
	if f.to-begin < least {
		return find{}, f.growth.by != nil
	}
	return f, false
}

// label reads capitals up to five dashes, and returns where these end, or 0.
func label(text []byte, i int) (to int, cut bool) {
	i += length(text[i:min(len(text), i+mostLabel)], func(c byte) bool { return capital(c) || c == ' ' })
	fits, cut := holds(text, i, dashes)
	if !fits {
		return 0, cut
	}
	return i + len(dashes), false
}

func (k privateKey) grow(text []byte, i int, end bool) (to int, next grower) {
	for i < len(text) {
		step, cut := k.step(text, i)
		switch {
		case cut && !end:
			return i, k
		case step > 0:
			i += step
		default:
			return k.close(text, i, end)
		}
	}
	if end {
		return i, nil
	}
	return i, k
}

// step is how many bytes at i belong to the key as one. A line break in a JSON string is a backslash and an n; taking
// a backslash alone would leave the quote behind it to end the string.
func (privateKey) step(text []byte, i int) (step int, cut bool) {
	switch c := text[i]; {
	case c == '\\' && i+1 == len(text):
		return 0, true
	case c == '\\' && strings.IndexByte(`nrt/\`, text[i+1]) >= 0:
		return 2, false
	case c == '-':
		n := length(text[i:min(len(text), i+len(dashes))], func(c byte) bool { return c == '-' })
		if n == len(dashes) {
			return 0, false
		}
		return n, i+n == len(text)
	case letter(c) || strings.IndexByte(" \t\r\n+/=:,.()@_", c) >= 0:
		return 1, false
	}
	return 0, false
}

// close takes the END line, where that is what the key has stopped at.
func (k privateKey) close(text []byte, i int, end bool) (to int, next grower) {
	fits, cut := holds(text, i, endMarker)
	if fits {
		to, cut = label(text, i+len(endMarker))
	}
	switch {
	case to > 0:
		return to, nil
	case cut && !end:
		return i, k
	}
	return i, nil
}

// publicOr is what follows "sk-", unless it is the name of a kind of public key: those of security keys begin like that,
// and stand in every known_hosts and in every `ssh -v`.
type publicOr struct{ secret rest }

var publicKinds = []string{"ssh-ed25519", "ssh-ed25519-cert-v01", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256-cert-v01"}

func (p publicOr) match(text []byte, i int, end bool) (f find, more bool) {
	for _, kind := range publicKinds {
		fits, cut := holds(text, i, kind)
		to := i + len(kind)
		switch {
		case (cut || fits && to == len(text)) && !end:
			return find{}, true
		case fits && (to == len(text) || !dashed(text[to])): // what goes on is another word
			return find{}, false
		}
	}
	return p.secret.match(text, i, end)
}

// login is the text after the "://" of an address: a user, a password, and an @.
type login struct{}

func (login) match(text []byte, i int, end bool) (f find, more bool) {
	to := i + length(text[i:min(len(text), i+horizon)], authority)
	if to == len(text) && to-i < horizon && !end {
		return find{}, true
	}
	host := bytes.LastIndexByte(text[i:to], '@')
	if host < 0 {
		return find{}, false
	}
	user, password, _ := bytes.Cut(text[i:i+host], []byte(":"))
	if len(password) == 0 || reference(password) {
		return find{}, false
	}
	return find{from: i + len(user) + 1, to: i + host}, false
}

// authority are the bytes of an address before its path. A password with one of these in it stands there escaped.
func authority(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("/?#\\\"'`<>", c) < 0
}

// reference tells that something stands in the place of a password: a variable, which is how commands are to do it, what a
// program will fill in, or what somebody wrote who did not want to show it.
func reference(password []byte) bool {
	switch {
	case len(password) == 2 && password[0] == '%': // a verb of printf
		return letter(password[1])
	case only(password, "xX*.") || string(password) == "…":
		return true
	}
	name, found := bytes.CutPrefix(password, []byte("$"))
	for len(name) > 2 && name[0] == '{' && name[len(name)-1] == '}' {
		name, found = name[1:len(name)-1], true
	}
	return found && len(name) > 0 && length(name, word) == len(name)
}

// only reports whether the text is one of these letters, three times or more.
func only(text []byte, letters string) bool {
	return len(text) >= 3 && strings.IndexByte(letters, text[0]) >= 0 && len(bytes.Trim(text, string(text[:1]))) == 0
}

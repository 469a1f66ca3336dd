package secrets_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"signoff/internal/secrets"
)

const block = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA0123\n456789+/=\n-----END RSA PRIVATE KEY-----"

// ours are values that overlap one another, themselves, and the shapes.
var ours = []string{"abcabcabc", "bcabcabca-xyz", "abcabc", "cabcab sk-", "earer aa", "ends-in-a-----BEGIN ", "eyJabcdef.e", "aAbB://user:pa"}

// parts are what texts are put together from: beginnings, middles and ends of all that is looked for.
var parts = append([]string{
	"a", "b", "c", "-", "--", ".", ":", "@", "/", `\`, "\n", " ", "x", "1", `"`, `\n`, `\u`, "é",
	"sk-", "sk", "ssh-ed25519", "-cert-v01", "ecdsa-sha2-", "nistp256", "@openssh.com", "://me:", "***", "{", "}", "%s", "-0123456789", "abcdefghijklmnop", "Bearer ", "Bear", "er abc123def456ghi", "eyJ", "eyJabcdef", ".eyJabcdef", ".sig",
	"AKIA", "IOSFODNN7EXAMPLE", "E", "ghp_", "0123456789abcdefghijklmnopqrstuvwxyz", "://", `:\/\/`, "https://user:", "password@", "host/",
	"-----BEGIN ", "PRIVATE KEY-----", "MIIEpAIBAAKCAQEA0123456789", "-----END ", "-----", openAI, token, block, "abcabc", "abc", "-xyz", "cab",
}, ours...)

func TestAStreamSaysWhatTheWholeTextDoes(t *testing.T) {
	masker := secrets.NewMasker(ours...)
	random := rand.New(rand.NewPCG(1, 2)) // the same texts each time
	for range 20_000 {
		var text strings.Builder
		for range 1 + random.IntN(8) {
			text.WriteString(parts[random.IntN(len(parts))])
		}
		sameInPieces(t, masker, text.String(), func(left int) int { return 1 + random.IntN(left) })
		sameInPieces(t, masker, text.String(), func(left int) int { return 1 + random.IntN(min(left, 3)) })
		if t.Failed() {
			return
		}
	}
}

// sameInPieces gives a text to a stream in pieces of next bytes.
func sameInPieces(t *testing.T, masker *secrets.Masker, text string, next func(left int) int) {
	t.Helper()
	var released strings.Builder
	stream := secrets.NewStream(masker)
	for rest := text; rest != ""; {
		cut := next(len(rest))
		released.WriteString(stream.Write(rest[:cut]))
		rest = rest[cut:]
	}
	released.WriteString(stream.Close())
	if got, want := released.String(), masker.MaskString(text); got != want {
		t.Errorf("%q in pieces became %q, want %q", text, got, want)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("abcabcabca-xyz "+openAI, "abcabcabc", "bcabcabca", []byte{1, 2, 3})
	f.Add("Bearer abc123def456ghi "+block, "earer abc", "-----END", []byte{7})
	f.Add("https://user:password@host "+token, "user:pass", "eyJhbGciOi", []byte{1})
	f.Fuzz(func(t *testing.T, text, one, two string, cuts []byte) {
		turn := 0
		sameInPieces(t, secrets.NewMasker(one, two), text, func(left int) int {
			turn++
			if len(cuts) == 0 {
				return left
			}
			return min(left, 1+int(cuts[turn%len(cuts)]))
		})
	})
}

// TestOnlyWhatMayBecomeASecretIsHeldBack: what stands in an agent's answer is to be seen while it is said.
func TestOnlyWhatMayBecomeASecretIsHeldBack(t *testing.T) {
	masker := secrets.NewMasker("hunter-2-hunter")
	for _, c := range []struct {
		pieces, releases []string
		rest             string
	}{
		{[]string{"It is ", "fine."}, []string{"It is ", "fine."}, ""},
		{[]string{"to hunt", "ing"}, []string{"to ", "hunting"}, ""},
		{[]string{"to hunt", "er-2-hunter", "!"}, []string{"to ", "[masked]", "!"}, ""},
		{[]string{"to hunter-2"}, []string{"to "}, "hunter-2"},
		{[]string{"key sk-", "abcdefghijklmno1", "234", "5."}, []string{"key ", "[masked]", "", "."}, ""},
		{[]string{"key sk-abc", ", I mean"}, []string{"key ", "sk-abc, I mean"}, ""},
		{[]string{"tas", "k_", "sk-1234567890123456z"}, []string{"tas", "k_", "sk-1234567890123456z"}, ""},
		{[]string{aws, "X"}, []string{"", aws + "X"}, ""},
		{[]string{aws, "."}, []string{"", "[masked]."}, ""},
		{[]string{aws}, []string{""}, "[masked]"},
		{[]string{"Bearer ", "abcdefghijkl1", "2"}, []string{"", "Bearer [masked]", ""}, ""},
		{[]string{"see https://me:pass", "word@host"}, []string{"see https", ""}, "://me:[masked]@host"},
	} {
		stream := secrets.NewStream(masker)
		for i, piece := range c.pieces {
			if got := stream.Write(piece); got != c.releases[i] {
				t.Errorf("%q: piece %d released %q, want %q", c.pieces, i, got, c.releases[i])
			}
		}
		if got := stream.Close(); got != c.rest {
			t.Errorf("%q: the rest is %q, want %q", c.pieces, got, c.rest)
		}
	}
}

// TestNothingIsHeldBackForEver: somebody may begin what looks like a key and never end it.
func TestNothingIsHeldBackForEver(t *testing.T) {
	const bound = 8<<10 + 64
	for name, c := range map[string]struct {
		begin, more string
		hidden      bool
	}{
		"a key":               {openAI, "abc-def", true},
		"a key's beginning":   {"sk-", "abc-def", false},
		"a token's head":      {"eyJ", "abcdef", false},
		"a token's claims":    {"eyJabcdef.eyJabcdef", "abcdef", true},
		"a token's signature": {token, "abcdef", true},
		"an authorization":    {"Bearer abcdefghijkl1", "abc/def=", true},
		"a private key":       {"-----BEGIN PRIVATE KEY-----\n", "MIIEpAIBAAKCAQEA\n", true},
		"a login":             {"https://user:", "password", false},
		"dashes":              {"-", "-----", false},
		"a value, nearly":     {"a-value-of-our", "a-value-of-our", false},
	} {
		t.Run(name, func(t *testing.T) {
			stream := secrets.NewStream(secrets.NewMasker("a-value-of-ours"))
			given, released := len(c.begin), len(stream.Write(c.begin))
			for range 20_000 {
				given += len(c.more)
				released += len(stream.Write(c.more))
				if !c.hidden && given-released > bound {
					t.Fatalf("%d of %d bytes are held back", given-released, given)
				}
			}
			if c.hidden && released != len(secrets.Masked) && released != len("Bearer "+secrets.Masked) {
				t.Errorf("%d bytes were released", released)
			}
			if rest := stream.Close(); len(rest) > bound || c.hidden && rest != "" {
				t.Errorf("%d bytes at the end", len(rest))
			}
		})
	}
}

func TestAStreamIsNewAfterItsEnd(t *testing.T) {
	stream := secrets.NewStream(nil)
	if got := stream.Write("word sk-abc") + stream.Close() + "|" + stream.Write(openAI+".") + stream.Close(); got != "word sk-abc|[masked]." {
		t.Error(got)
	}
}

func TestAStreamWithoutSecretsCostsNothing(t *testing.T) {
	stream := secrets.NewStream(secrets.NewMasker("a-secret-of-ours"))
	pieces := strings.SplitAfter("Nothing in here is worth hiding, so every piece goes on as it came. ", " ")
	write := func() {
		for _, piece := range pieces {
			if got := stream.Write(piece); got != piece {
				t.Fatalf("%q became %q", piece, got)
			}
		}
	}
	write()
	if allocations := testing.AllocsPerRun(100, write); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// Package secrets masks secrets in all text for people and models, and hands named secrets to the commands that they are
// for.
//
// # Model
//
// A [Masker] is made of the values that must not be seen. It finds each value as it is, and as texts carry it on the
// way: in JSON, also in a string within a string; in URLs; in HTML; in base64, also as a part of a longer text; in hex, also as xxd,
// od and hexdump print it: in groups, in little-endian words, over several rows with their offsets and columns or rows of letters, down to
// one byte a row; and escaped byte by byte, as in 53:33, %53%33 and \x53\x33.
// Besides, it knows the shapes of common keys (GitHub, OpenAI, Anthropic, Google, AWS, Slack, GitLab, our own, JWTs, bearer
// tokens), private keys in PEM, and the passwords of addresses, since an agent may print keys that the server never gave
// it. Each find becomes [Masked]; finds that overlap become one, so that no rest of one shows beside the other.
//
// A [Stream] does the same to a text that comes in pieces, [Masker.JSON] to a document, and a [Handler] to the log.
//
// [Credentials] reads the values out of a file that the operator lends to commands, and [Masker.Learn] adds them while the server runs: such files
// rotate. Earlier values of a file stay known.
//
// A [Vault] holds secrets by name. Agents and models say the name; the process that needs the value has it in its
// environment, and nobody else sees it.
//
// # Promises
//
//   - No value of at least [MinLength] bytes is left in the result of [Masker.Mask], in any of the forms above.
//   - A text without a find is returned as it is, without an allocation.
//   - The time is linear in the text, whatever the text is: its authors are those who are being watched.
//   - A stream releases what Mask makes of the whole text, wherever the cuts are. It holds back the end alone, and only
//     what may be the beginning of something: at most as many bytes as the longest form has, 32 times as many of what looks like
//     rows of hex and a few rows more, or 8 KiB of what looks like a key.
//   - What [Masker.JSON] returns is valid JSON; nothing that begins in one string takes a part of the next. [Masker.Mask]
//     keeps JSON valid where a find lies within a string.
//   - A vault prints its names, never its values, by whatever verb.
//
// # Limits
//
// Shorter values are not looked for: masking every "1" of a log would hide the log, not the value. A password without
// an address around it has no shape; `password=…` stands in too much code. A user name in an address is no secret, and
// neither is what stands there for a password: $PGPASSWORD, {password}, %s, xxx, ***.
//
// A masker remembers the last sixteen versions of a file that it learned from, until the process ends. Of a lent file, values shorter than MinLength
// are not looked for, nor what no field of a known name holds in a file that has one.
//
// What was cut to a length before may be missed; so mask first, and cut then. A value that lies in several strings of a
// document, a piece in each, is not found. A private key without its END takes along what follows it, up to a letter that
// no such key has in it. What the runtime prints when the process crashes goes past every handler.
//
// Numbers that are not hex are not read: what od -c and od -b print, \123 in octal, bytes in decimal. Where od prints letters above their hex
// (od -c -tx1), the letters of the first row stay.
//
// An attacker can always write a secret in a form that is not listed here: reversed, one letter a line, every other
// letter escaped. Masking is against accidents.
//
// # Use
//
//	masker := secrets.NewMasker(os.Getenv("API_KEY"))
//	shown := masker.Mask(line)
//
//	stream := secrets.NewStream(masker)
//	for piece := range pieces {
//		send(stream.Write(piece))
//	}
//	send(stream.Close())
//
//	slog.SetDefault(slog.New(secrets.NewHandler(slog.NewJSONHandler(os.Stderr, nil), masker)))
//
//	vault, err := secrets.NewVault(secrets.Secret{Name: "github", Variable: "GH_TOKEN", Value: token})
//	command.Env, err = vault.Environment([]string{"github"})
package secrets

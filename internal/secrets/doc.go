// Package secrets takes secrets out of text before people see it: what agents print, what they say over their protocol,
// and the messages of their errors.
//
// # Model
//
// A [Masker] is made of the values that must not be seen. It finds each value as it is, and as texts carry it on the
// way: inside a JSON string, base64, percent-encoded. Besides, it knows the shapes of common keys (GitHub, OpenAI,
// Anthropic, Google, AWS, Slack, GitLab, JWTs, bearer tokens), since an agent may print keys that the server never gave
// it. Each find becomes [Masked]; finds that overlap become one, so that no rest of one shows beside the other.
//
// # Promises
//
//   - No value of at least [MinLength] bytes is left in what [Masker.Mask] returns, in any of the forms above.
//   - A text without a find is returned as it is, without an allocation.
//   - The time is linear in the text, whatever the text is: it is written by those who are being watched.
//   - JSON stays JSON, where a find lies within a string.
//
// # Limits
//
// A value is found within one text. A caller who has it in pieces puts the pieces together first. Shorter values are
// not looked for: masking every "1" of a log would hide the log, not the value. Who wants to smuggle a secret out can
// always write it in a form that nobody thought of; masking is against accidents.
//
// # Use
//
//	masker := secrets.NewMasker(os.Getenv("API_KEY"))
//	shown := masker.Mask(line)
package secrets

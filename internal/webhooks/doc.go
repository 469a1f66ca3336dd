// Package webhooks sends notifications to addresses outside, and makes the links with which a person decides without a key.
//
// # Model
//
// The store writes a delivery for each webhook in the very transaction of the event: an outbox. A [Dispatcher] in each replica
// claims due deliveries and sends them, as Standard Webhooks says: the headers webhook-id, webhook-timestamp and webhook-signature over
// a thin body that names the event and where to read more. A [Service] creates, lists and deletes webhooks.
//
// [Links] signs tokens that name one approval. They are the credential of the page on which it is decided; the token is put into a
// body when that is sent, so the database holds none.
//
// # Promises
//
//   - Every event in the log is delivered: neither a crash of a server nor an outage of a target for less than a day loses a
//     delivery. After that it is failed, and can be redelivered.
//   - It is delivered at least once. All attempts of a delivery have the same webhook-id and the same body; an attempt whose outcome
//     was not stored is made again.
//   - A slow target delays only itself: it has a few concurrent requests, and only one after a failure. The same holds for a tenant
//     with many slow targets: it leaves as many requests to others as it takes.
//   - A redelivery is due from the moment it is asked for. The outcome of an attempt that is under way then is kept, but neither ends the
//     redelivery nor puts it off; only a 410 does, since it disables the webhook.
//   - No request goes to an address that is not public, however its name resolves, but to the hosts that the operator lists. Redirects
//     are not followed, and nothing of an answer is kept but its status.
//   - A secret is shown when it is made, and never again.
//
// # Limits
//
// Deliveries are not ordered: one that is retried arrives after later ones. The receiver sorts by executionId and seq. Delivered
// and failed deliveries are deleted after 30 days. Secrets lie in the database as they are, since they sign.
package webhooks

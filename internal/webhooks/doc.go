// Package webhooks tells addresses outside of what happens, and makes the links by which a person decides without a key.
//
// # Model
//
// The store writes a delivery for each webhook in the very transaction of the event: an outbox. A [Dispatcher] in each replica
// claims what is due and sends it, as Standard Webhooks says: the headers webhook-id, webhook-timestamp and webhook-signature over
// a thin body that says what happened and where to read more. A [Service] creates, lists and deletes webhooks.
//
// [Links] signs tokens that name one approval. They are the credential of the page on which it is decided; the token is put into a
// body when that is sent, so the database holds none.
//
// # Promises
//
//   - What is in the log is told: neither the death of a server nor that of a target for less than a day loses a delivery. After that it is
//     failed, and can be redelivered.
//   - It is told at least once. All attempts of a delivery have the same webhook-id and the same body; an attempt whose outcome
//     nobody has written down is made again.
//   - A slow target holds up itself: nobody has more than a few requests under way, and only one after a failure. So does a tenant with many
//     of them: it has no more under way than it leaves free for others.
//   - A redelivery is due from the moment it is asked for. The outcome of an attempt that is under way then is kept, but neither ends the
//     redelivery nor puts it off; only a 410 does, since it disables the webhook.
//   - No request goes to an address that is not public, however its name resolves, but to the hosts that the operator lists. Redirects
//     are not followed, and nothing of an answer is kept but its status.
//   - A secret is shown when it is made, and never again.
//
// # Limits
//
// Deliveries are not ordered: one that is retried arrives after later ones. The receiver sorts by executionId and seq. What was
// delivered or has failed is forgotten after 30 days. Secrets lie in the database as they are, since they sign.
package webhooks

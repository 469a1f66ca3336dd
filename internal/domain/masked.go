package domain

// Masked replaces a secret in everything that is shown, stored or sent to a model. Tools need it, too: a model that has read it would write it
// back in the place of the secret.
const Masked = "[masked]"

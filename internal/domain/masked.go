package domain

// Masked stands where a secret was, in all that is shown, stored or told to a model. It is defined here because tools must
// know it, too: a model that has read it would write it back, in the place of the secret.
const Masked = "[masked]"

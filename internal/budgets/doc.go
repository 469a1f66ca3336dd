// Package budgets gives out the budgets that executions share: what a tenant may use up in a day, and what a root and all executions below it may.
//
// # Accounts, allotments, reservations
//
// A tenant's day is an account in the ledger of the database, and so is a tree whose root has a budget. Each replica takes an allotment from an account, a
// sixteenth of what is left or more, and keeps count of it in memory. Before a request to a model its execution reserves from the allotment what the request will use at most, and afterwards it
// settles with what was used. So requests wait neither for each other nor for other replicas, and only one request in many locks the row of the account.
//
// # Promises
//
//   - As long as something is left, a request may be sent, and takes its whole reservation along. So what is used goes beyond the limit by one request
//     for each running execution at most, on however many replicas.
//   - If all that is left is reserved or allotted elsewhere, a request waits for a while: most requests use less than they have reserved, and a
//     replica returns what it does not need.
//   - A reservation is in the database before its request is sent, with the epoch of its driver. Whoever recovers the execution releases it.
//   - What is left of the allotment of a dead replica goes back to the account. If a replica loses its lease and lives on, it finds that out before its next
//     reservation.
package budgets

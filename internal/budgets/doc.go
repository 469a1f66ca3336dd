// Package budgets gives out the budgets that executions share: the daily budget of a tenant, and the budget of a root and all executions below it.
//
// # Accounts, allotments, reservations
//
// The day of a tenant is an account in the ledger of the database, and so is a tree whose root has a budget. Each replica takes an allotment from an account,
// at least a sixteenth of the rest, and counts it in memory. Before a request to a model, its execution reserves the maximum usage from the allotment. After
// the request it settles with the real usage. So requests wait neither for each other nor for other replicas, and few requests lock the row of the account.
//
// # Promises
//
//   - As long as anything is left, a request may be sent, and gets its whole reservation. So the usage exceeds the limit by at most one request for
//     each running execution, on any number of replicas.
//   - If the rest is reserved, or allotted to other replicas, a request waits for a while: most requests use less than they have reserved, and a
//     replica returns unneeded allotments.
//   - A reservation is in the database before its request is sent, with the epoch of its driver. The server that recovers the execution releases it.
//   - The rest of a dead replica's allotment goes back to the account. A replica that has lost its lease and lives on notices it before its next reservation.
package budgets

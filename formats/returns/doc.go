// Package returns reads what agents return and checks it against their contracts.
//
// It accepts the vocabularies in use, says what it repaired, and finds all faults at once. A return
// counts only with the nonce of its delegation, and what an agent claims of session, run, duration
// or class is dropped. Whether an artifact exists is for the caller to check.
package returns

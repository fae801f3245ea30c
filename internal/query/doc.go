// Package query compiles and runs jq, and is the sole user of gojq.
//
// Promise: Compile finds every unknown variable, unknown function and forbidden function with its place in the source
// and a suggestion; what it accepts runs with nothing but the values it is given: no environment, no files, no
// modules, no network. Run is bounded: one second, 10,000 results, 8 MiB of output; operations that the context
// cannot interrupt are refused beyond sizes that take a fraction of that. Values go in as plain Go values and come
// out as nil, bool, int, float64, *big.Int, json.Number, string, []any and map[string]any; no type and no error of
// gojq leaves the package.
//
// It will not write state, keep the order of keys of objects that a query makes, or print anywhere but to a writer it
// is given.
//
// A query of the command line (Host.Run) runs in this process under a deadline, or in a bounded child of it. Where
// that makes no difference to a byte of its output, its inputs are read in one pass and not decoded in full
// (stream.go, need.go).
//
// Concurrency: a *Code may be run by any number of goroutines and does not change for them. Inputs, variables and
// results may share parts: nobody may change them.
package query

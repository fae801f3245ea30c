// Package query compiles and runs jq, and is the sole user of gojq.
//
// Promise: Compile finds every unknown variable, unknown function and forbidden function with its
// place in the source and a suggestion. An accepted query runs on the given values only: no
// environment, no files, no modules, no network. Run is bounded: one second, 10,000 results, 8 MiB
// of output. It refuses large operations that the context cannot interrupt. Values go in as plain
// Go values. They come out as nil, bool, int, float64, *big.Int, json.Number, string, []any and
// map[string]any. No type and no error of gojq leaves the package.
//
// It will not write state, keep the key order of objects that a query makes, or print except to a
// given writer.
//
// A query of the command line (Host.Run) runs in this process under a deadline, or in a bounded
// child of it. Where that cannot change a byte of the output, it reads inputs in one pass without
// decoding them in full (stream.go, need.go).
//
// Concurrency: a *Code may be run by any number of goroutines and does not change for them. Inputs,
// variables and results may share parts: do not change them.
package query

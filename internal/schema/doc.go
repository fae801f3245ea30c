// Package schema checks plain JSON values against a JSON Schema.
//
// Promise: Compile finds everything that is wrong in a schema, each with its place in the file, and refuses by name what it
// would not check; Validate gives every violation of a value, each with the path of the value, what was expected and what
// was there, in an order that depends on neither maps nor time. Drafts 2020-12 and 07 are known. Work is bounded: a schema
// cannot make a check run without end, whatever it refers to.
//
// It will not fetch a schema from anywhere, read files, check `format` (which the drafts leave a remark), or change a value.
//
// Concurrency: a *Schema is immutable and may be used by any number of goroutines.
package schema

// Package formats holds the wire types of tercet: the records between layers and the findings about
// files. The packages below it read and check these: returns, documents and schema. It promises
// that a valid value keeps the documented rules. Limits and tables (statuses,
// transitions, codes, exits, depth) are defined here only. It has no effects: it touches no file,
// clock, process or state. All values are plain data; functions are safe for concurrent use, values
// are as safe as the maps and slices in them.
package formats

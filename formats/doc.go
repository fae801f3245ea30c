// Package formats holds the wire types of tercet with their parsers and validators: the records
// between layers and the files on disk. It promises that a valid value keeps the documented rules,
// and that every parser reports all violations with their place. Limits and tables (statuses,
// transitions, codes, exits, depth) are defined here only. It has no effects: it touches no file,
// clock, process or state. All values are plain data; functions are safe for concurrent use, values
// are as safe as the maps and slices in them.
package formats

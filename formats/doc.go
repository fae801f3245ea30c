// Package formats holds the wire types of tercet with their parsers and validators: what layers say to each other and
// what lies on disk. It promises that a value which passed its validator keeps the documented rules, that every parser
// reports all violations with their place, and that limits and tables (statuses, transitions, codes, exits, depth) have
// this one home. It performs no effect: no file, clock, process or state is reached from here. All values are plain
// data; functions are safe for concurrent use, values are as safe as the maps and slices in them.
package formats

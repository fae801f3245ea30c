// Package record reads records of lines "KEY: value" as agents write them: indented or not, with
// lists, maps, literals, comments and lines left out. It knows no key.
package record

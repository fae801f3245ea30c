// Package schema checks JSON Schemas, and values against them.
//
// It promises that one check names every violation, that a schema which it cannot check in full is
// refused with its place, and that the work for one value is bounded. It fetches nothing.
package schema

// Package documents reads and writes the documents that commands pass on: plans, reports, reviews
// and the handoff documents of flows. A profile says how each kind is read; profiles are files.
//
// It names every fault of a document with its place and adds nothing to one.
package documents

// Package profiles holds the rules of the documents that the pack flows passes from one flow to the
// next. Package formats reads them, so that tercet knows these documents also where the pack is
// not installed.
package profiles

import "embed"

// Files are the rules, one file a profile.
//
//go:embed *.yaml
var Files embed.FS

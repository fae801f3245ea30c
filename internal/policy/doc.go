// Package policy is tests alone: what each package may import, where the edge of the process is,
// who writes files, which forms code may not have. They read the tree as text and syntax.
// docs/design.md has the table of imports and says why the rules are what they are.
package policy

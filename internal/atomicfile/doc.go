// Package atomicfile is the one raw writer of files.
//
// Promise: after a crash at any point a written file holds its old or its new content, never a
// mixture. When a function without Loose in its name returns nil, the content and its name are on
// the disk. A write goes to a file of its own in the same directory, is synced, renamed over the
// name, and the directory is synced. On an error the new file is removed and the old content stays.
// The exception is *NotDurableError: the name has the new content, but the sync of the directory
// failed. It never syncs again after an error, because the kernel may have dropped the pages.
//
// Open, FS and ReadFile, and OpenPath and ReadPath for paths, read, and never wait for a pipe
// without a writer.
//
// It will not lock, merge, follow a symbolic link at the name itself (the link is replaced; resolve
// it before), or leave the given root. Windows has no sync of a directory: there the rename is as
// durable as the system makes it.
//
// Concurrency: the functions hold no state. Two writers of one name do not tear it, the later
// rename wins; Options.Before and a lock of the caller decide who may. Append expects one writer of
// a file at a time.
package atomicfile

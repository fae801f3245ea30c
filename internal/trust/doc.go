// Package trust decides which files of a project may start processes, and stores outside every
// repository what the user approved.
//
// Promise: the list of files that can start processes is complete, or there is none. A file with
// unreadable name or content is listed as such and never starts. Approval counts for the exact
// content of each listed file; a changed or new file needs a new approval, and no other file does.
// Reads through a Gate give only approved bytes, whether read before the approval or after it. A
// record counts for exactly one folder by its real path. A store is refused, with the reason, if it
// is inside the project, behind a symbolic link, or writable by other users. Records are written
// completely or not at all.
//
// It will not ask the user, read the environment, parse commands or agents (callers list their
// files), or look into .git. It does not protect against processes that can write into the user's
// own state folder.
//
// Concurrency: a Gate is safe for concurrent use. A Store holds no state; of two writers of one
// record the later wins; the other approval must be given again.
package trust

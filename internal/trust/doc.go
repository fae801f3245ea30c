// Package trust keeps, outside of every repository, which files of a project a person has agreed to.
//
// Promise: an answer is bound to the content of each listed file; a file that changed by a byte, or is new, has to be asked
// about again, and no other file has. A record counts for exactly one folder, by its real path, and for none below or above.
// A store that lies inside the project, is reached through a symbolic link, or can be written by others is not used, and the
// error says why. Records are written as a whole or not at all.
//
// It will not decide which files of a project can start a program, ask anybody, read the environment, or look into .git. It
// does not guard against who can write into the person's own state folder.
//
// Concurrency: a Store holds no state; of two writers of one record the later wins, and what the other one agreed to is
// asked again.
package trust

// Package trust decides what of a project may start a program, and keeps outside of every repository what a person
// agreed to.
//
// Promise: the list of what can start a program is complete, or there is none; what has no readable name or content is
// in it as such, and is never started. An answer is bound to the content of each listed file; a file that changed by a
// byte, or is new, has to be asked about again, and no other file has. What was read through a Gate is what was agreed
// to: bytes that differ are refused, whether they were read before the answer or after it. A record counts for exactly
// one folder, by its real path, and for none below or above. A store that lies inside the project, is reached through a
// symbolic link, or can be written by others is not used, and the error says why. Records are written as a whole or not
// at all.
//
// It will not ask anybody, read the environment, parse commands or agents (their files come in as lists), or look into
// .git. It does not guard against who can write into the person's own state folder.
//
// Concurrency: a Gate is safe for concurrent use. A Store holds no state; of two writers of one record the later wins,
// and what the other one agreed to is asked again.
package trust

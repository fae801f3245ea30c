// Package faults lets a test kill a program at an exact system call, or answer that call with an
// error.
//
// Promise: the program runs under a seccomp filter. Before the kernel does a file call of any
// thread, the filter hands it to the test. File calls are openat, write, fsync, rename, unlink,
// link, flock, close and their kin. The calls about paths under one folder are numbered. At a given
// number the program is killed or the call fails with an errno; the Outcome says whether that
// number was reached. Without a number the calls are recorded with their paths and bytes. It needs
// no privilege: the program gives up the right to gain any. Where the kernel lacks support,
// Available says why.
//
// It will not start a process, change what a call does besides failing it, or see writes through a
// memory mapping. A close that is answered with an errno leaves the file open, unlike one that
// fails in the kernel. Only tests use it; no package of the program does.
//
// Concurrency: a Listener belongs to the goroutine that calls Serve, one for each program. Enter is
// called once by a process, from any goroutine, and holds for all of its threads and for what it
// executes.
package faults

// Package checkup says what of an installation and of a workspace works, what is missing and what to do about it.
//
// Promise: before a project is trusted no program is started, and nothing is written into it. Programs are asked at the
// same time, each for a bounded time.
//
// It will not mend anything, print, or decide where a program may start.
//
// Concurrency: one goroutine looks.
package checkup

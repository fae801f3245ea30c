// Package bench measures tercet beside its peers and prints the table of the performance goals:
// `make bench`.
//
// Promise: every figure is a ratio of two medians, in wall time and in processor time. Each median
// comes from at least nine interleaved pairs of runs; the table also shows both medians and the
// version of the peer. Concurrent writers run three rounds, alternating with one process alone. The
// table reports a peer that is not installed as missing. No test fails because of a time: the tests
// assert that both sides gave the same answer and that no write was lost.
//
// It holds only tests, and peers.sh, which installs the peers. The tests run only with -goals, one
// after the other, because two measurements at once would disturb each other.
package bench

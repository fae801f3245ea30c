// Package bench measures tercet beside its peers and prints the table of the performance goals: `make bench`.
//
// Promise: every figure is a ratio of two medians of at least nine interleaved pairs of runs, in wall time and in
// processor time, and stands beside both medians and the version of the peer; processes that write at the same time
// have three rounds, in turns with one process alone. A peer that is not there is said to be missing. Nothing that is
// timed is a test that can fail: what is asserted is that both sides gave the same answer and that no write was lost.
//
// It holds no code outside of its tests, and peers.sh, which installs the peers. The tests skip unless they are asked
// for with -goals; they run one after the other, because two measurements at once would measure each other.
package bench

//go:build linux

package proc

// ParseStat lets the tests feed the parser.
func ParseStat(b []byte) (session int, start string, err error) {
	st, err := parseStat(1, b)
	return st.session, st.start, err
}

// Hunt lets the tests say which processes each round of a hunt finds.
func Hunt(s Started, list func() []int) int {
	return s.killDescendants(list)
}

// Adopt makes orphans come to the test.
func Adopt() {
	becomeSubreaper()
}

// ChildrenOf lists the children of a process by its folder.
func ChildrenOf(proc string) []int {
	return childrenOf(proc)
}

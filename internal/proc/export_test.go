//go:build linux

package proc

// ParseStat lets the tests feed the parser.
func ParseStat(b []byte) (session int, start string, err error) {
	st, err := parseStat(1, b)
	return st.session, st.start, err
}

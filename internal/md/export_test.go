package md

// ReadSimple is the fast reader alone; false if it leaves the text to the parser.
func ReadSimple(src []byte, at Pos) (*Node, bool) { return readSimple(src, at) }

// ReadWithParser is ParseYAML without the fast reader.
func ReadWithParser(src []byte, at Pos) (*Node, []Problem) {
	return Limits{}.orDefault().parseYAML(src, at)
}

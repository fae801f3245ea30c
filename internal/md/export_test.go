package md

// ReadSimple is the fast reader alone; false if it leaves the text to the parser.
func ReadSimple(src []byte, at Pos) (*Node, bool) { return readSimple(string(src), at, &memory{}) }

// ReadWithParser is ParseYAML without the fast reader.
func ReadWithParser(src []byte, at Pos) (*Node, []Problem) {
	return Limits{}.orDefault().parseYAML(src, at)
}

// SimpleBlocks is the fast reader of blocks alone; false if it leaves the body to the parser.
func SimpleBlocks(d *Document) ([]Block, bool) { return simpleBlocks(d) }

// ParserBlocks are the blocks of a document by the parser.
func ParserBlocks(d *Document) ([]Block, []Problem) { return Limits{}.orDefault().blocks(d) }

// ScanLines is the reader of line ends.
func ScanLines(text []byte) (starts []int, clean bool) { return scanLines(text, nil) }

package plain

// Continued is what stands before a further line of a message.
const Continued = continuationMark

// Rest is what a Writer holds back: the beginning of a character.
func (s *Writer) Rest() string {
	return string(s.rest)
}

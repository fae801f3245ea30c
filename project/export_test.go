package project

// LastBytes is lastBytes.
func LastBytes(text string, most int) string {
	return lastBytes(text, most)
}

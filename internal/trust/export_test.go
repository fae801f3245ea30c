package trust

// ReadConsent reads a text as an auto-approve file and gives the number of findings.
func ReadConsent(text string) int {
	var c autoApprove
	c.read("auto-approve", text)
	return len(c.found)
}

// Project is the real path of the project root, by which its record is found.
func (s *Store) Project() string {
	return s.project
}

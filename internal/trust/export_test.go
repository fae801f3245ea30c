package trust

// ReadConsent reads a text as an auto-approve file and gives the number of findings.
func ReadConsent(text string) int {
	var c consent
	c.read("auto-approve", text)
	return len(c.found)
}

package mcp

import "time"

// WaitForAnswers sets how long the end of the input waits for answers.
func (s *Server) WaitForAnswers(most time.Duration) {
	s.wait = most
}

package web

import "time"

// Hurry makes slow requests end sooner. Call it before Serve.
func (s *Server) Hurry(head, request time.Duration) {
	s.times.head = head
	s.times.request = request
}

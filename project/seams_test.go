package project

import (
	"tercet/commands/interp"
	"tercet/internal/trace"
	"tercet/subagents/offline"
)

// The approver answers the gates of steps and of offline workers, and a session takes events.
var (
	_ interp.Approver  = (*approver)(nil)
	_ offline.Approver = (*approver)(nil)
	_ trace.Sink       = (*Session)(nil)
)

package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tercet/engine/nats/link"
	"tercet/team"
)

// seat is a worker, or one slot of it, as it was when it asked for a run last.
type seat struct {
	name      string // of the member, with the number of a further slot
	member    string
	heard     time.Time
	candidate team.Candidate
}

// seatName names a slot of a member.
func seatName(member string, slot int) string {
	if slot <= 1 {
		return member
	}
	return fmt.Sprintf("%s/%d", member, slot)
}

// sit notes what a worker says of itself. Whatever it had goes back into the queue: a worker that
// asks has nothing, it was started again.
func (h *Hub) sit(member string, asked link.Asked) (seat, error) {
	s := seat{
		name:   seatName(member, asked.Slot),
		member: member,
		heard:  time.Now(),
		candidate: team.Candidate{
			Version: asked.Version,
			Labels:  asked.Labels,
			Files:   asked.Files,
			Base:    asked.Base,
			Refuses: asked.Refuses,
		},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats[s.name] = s
	return s, h.giveBack(func(one *held) bool { return one.seat == s.name })
}

// heardOf notes a sign of life. The caller holds h.mu.
func (h *Hub) heardOf(name string) {
	if s, known := h.seats[name]; known {
		s.heard = time.Now()
		h.seats[name] = s
	}
}

// seated lists the workers by name.
func (h *Hub) seated() []seat {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []seat
	for _, s := range h.seats {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b seat) int { return strings.Compare(a.name, b.name) })
	return list
}

// lacking tells why no worker that was heard of lately may have a queued run; empty: one may.
func (h *Hub) lacking(ctx context.Context, run string) string {
	if err := h.keeper.Writable(); err != nil {
		return err.Error()
	}
	var reasons []string
	for _, s := range h.seated() {
		if time.Since(s.heard) > 2*h.cfg.DeadAfter {
			continue
		}
		fit, err := h.keeper.Fit(ctx, run, s.candidate)
		if err != nil {
			return err.Error()
		}
		if fit.Why == "" {
			return ""
		}
		reasons = append(reasons, "worker "+s.name+": "+fit.Why)
	}
	if len(reasons) == 0 {
		return "no worker was heard of lately"
	}
	return strings.Join(reasons, "; ")
}

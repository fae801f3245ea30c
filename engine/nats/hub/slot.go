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

// slot is a worker, or one slot of it, as it was when it asked for a run last.
type slot struct {
	name      string // of the member, with the number of a further slot
	member    string
	heard     time.Time
	candidate team.Candidate
}

// slotName names a slot of a member.
func slotName(member string, slot int) string {
	if slot <= 1 {
		return member
	}
	return fmt.Sprintf("%s/%d", member, slot)
}

// registerSlot notes what a worker says of itself. Whatever it had goes back into the queue: a
// worker that asks has nothing, it was started again.
func (h *Hub) registerSlot(member string, asked link.TakeRequest) (slot, error) {
	s := slot{
		name:   slotName(member, asked.Slot),
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
	h.slots[s.name] = s
	return s, h.requeue(func(one *assignment) bool { return one.slot == s.name })
}

// noteAlive notes a sign of life. The caller holds h.mu.
func (h *Hub) noteAlive(name string) {
	if s, known := h.slots[name]; known {
		s.heard = time.Now()
		h.slots[name] = s
	}
}

// listSlots lists the workers by name.
func (h *Hub) listSlots() []slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []slot
	for _, s := range h.slots {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b slot) int { return strings.Compare(a.name, b.name) })
	return list
}

// whyUnassigned tells why no worker that was heard of lately may have a queued run; empty: one may.
func (h *Hub) whyUnassigned(ctx context.Context, run string) string {
	if err := h.keeper.Writable(); err != nil {
		return err.Error()
	}

	var reasons []string
	for _, s := range h.listSlots() {
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

package sandbox

import (
	"cmp"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/shell"
)

// Tier is the strength of a sandbox.
type Tier string

// The tiers, from the strongest.
const (
	Container Tier = "container"           // a file system of its own
	Platform  Tier = "platform_permission" // the system rejects writes outside
	Advisory  Tier = "advisory_only"       // no enforcement; changes are inspected afterwards
	Blocked   Tier = "blocked"             // not run at all
)

// String is the tier in results.
func (t Tier) String() string {
	return string(t)
}

// ParseTier gives the tier named s; Blocked cannot be requested.
func ParseTier(s string) (Tier, error) {
	switch t := Tier(s); t {
	case Container, Platform, Advisory:
		return t, nil
	case Blocked:
	}
	return "", formats.Fail(formats.CodeUsage, "",
		"expected container, platform_permission or advisory_only, got %q", s)
}

func (t Tier) rank() int {
	return slices.Index([]Tier{Blocked, Advisory, Platform, Container}, t)
}

// Order is the default order: the strongest first.
func Order() []Tier {
	return []Tier{Container, Platform, Advisory}
}

// Tighten restricts the user's order to what a project accepts: the project names its weakest tier.
// The order stays the user's, by default the strongest first. The result contains a tier that the
// user does not want only if nothing else is left; it is then a stronger one. Tighten ignores
// unknown words.
func Tighten(user, project []string) []Tier {
	order := tiers(user)
	floor := tiers(project)
	if len(order) == 0 {
		order = Order()
	}
	if len(floor) == 0 {
		return order
	}
	slices.SortFunc(floor, func(a, b Tier) int {
		return cmp.Compare(b.rank(), a.rank())
	})
	least := floor[len(floor)-1].rank()
	out := slices.DeleteFunc(order, func(t Tier) bool {
		return t.rank() < least
	})
	if len(out) > 0 {
		return out
	}
	return floor
}

func tiers(names []string) (out []Tier) {
	for _, n := range names {
		if t, err := ParseTier(n); err == nil {
			out = append(out, t)
		}
	}
	return out
}

// Means is the technique behind a tier.
type Means string

// The means.
const (
	Docker     Means = "docker"
	Podman     Means = "podman"
	Bubblewrap Means = "bubblewrap"
	Landlock   Means = "landlock"
	None       Means = "none"
)

// String is the means in results.
func (m Means) String() string {
	return string(m)
}

// Needs gives the weakest tier that a command may run in: a required finding needs a system that
// rejects it, whatever its category, and so does what only a run would show.
func Needs(r shell.Report) (need Tier, why []string) {
	need, why = required(r)
	for _, u := range r.Unknown {
		need = Platform
		why = append(why, u.String())
	}
	return need, why
}

// required is Needs for the findings alone.
func required(r shell.Report) (need Tier, why []string) {
	need = Advisory
	why = []string{}
	for _, f := range r.Findings {
		if f.Level == shell.Required {
			need = Platform
			why = append(why, f.Command+": "+f.Reason)
		}
	}
	return need, why
}

// ForFlow gives the weakest tier in which a flow of a tier may run a command, as Needs does. bare:
// the tier is small, so the user may let a command without a sandbox run that needs one. Below
// Standard, or with a reason, what only a run would show needs no sandbox.
func ForFlow(flow, reason string, r shell.Report) (need Tier, why []string, bare bool) {
	need, why = required(r)
	switch {
	case flow == "Minimal" || flow == "Patch":
		return Advisory, why, r.Level == shell.Required
	case flow != "Light" && reason == "":
		need, why = Needs(r)
	}
	return need, why, false
}

// Holds reports whether a program in a tier, as results name it, could not read the user's folder
// of tercet, whose keys seal answers and journals. An empty tier is that of work that started no
// program.
func Holds(tier string) bool {
	return tier == "" || strings.HasPrefix(tier, Container.String()) ||
		tier == Box{Tier: Platform, Means: Landlock}.String()
}

// FindProbe gives the result of the probe of a means. It may run the probe.
type FindProbe func(Means) (Probe, error)

// Among finds probes that have been run. What is not among them does not work.
func Among(probes []Probe) FindProbe {
	return func(m Means) (Probe, error) {
		for _, p := range probes {
			if p.Means == m {
				return p, nil
			}
		}
		return Probe{Means: m}, nil
	}
}

// Choose gives the first probe of the order that works, if it is at least what is needed. Nothing
// after it is probed. If the order has only advisory_only, the user decided so, and nothing is
// refused.
func Choose(need Tier, why []string, order []Tier, find FindProbe) (Probe, error) {
	best := Blocked
	only := len(order) == 1 && order[0] == Advisory
	for _, t := range order {
		for _, kind := range kinds {
			if kind.tier != t {
				continue
			}
			p, err := find(kind.means)
			switch {
			case err != nil:
				return Probe{}, err
			case !p.OK:
				continue
			case t.rank() >= need.rank() || only:
				return p, nil
			case t.rank() > best.rank():
				best = t
			}
		}
	}
	return Probe{}, blocked(need, best, why...)
}

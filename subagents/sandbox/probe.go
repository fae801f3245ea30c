package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tercet/internal/proc"
)

// Probe is the test result of one kind of sandbox.
type Probe struct {
	Tier  Tier   `json:"tier"`
	Means Means  `json:"means"`
	OK    bool   `json:"ok"`
	Why   string `json:"detail"` // what it does, or why it fails
	Tool  string `json:"-"`

	image  string
	user   []string
	userNS bool
}

// Prober tests what works here by running it.
type Prober struct {
	Starter *proc.Starter
	Image   Image
	All     bool // also asks the engines if no image is configured
}

// probeTime bounds one probe.
const probeTime = 5 * time.Second

// kinds are the means of each tier, the strongest first. The last one, no sandbox, always works.
var kinds = []struct {
	tier  Tier
	means Means
}{
	{Container, Docker},
	{Container, Podman},
	{Container, Bubblewrap},
	{Platform, Landlock},
	{Advisory, None},
}

// Probe tries every means, the strongest first.
func (p *Prober) Probe(ctx context.Context) ([]Probe, error) {
	var out []Probe
	for _, kind := range kinds {
		got, err := p.ProbeMeans(ctx, kind.means)
		if err != nil {
			return nil, err
		}
		out = append(out, got)
	}
	return out, nil
}

// ProbeMeans tries one means.
func (p *Prober) ProbeMeans(ctx context.Context, m Means) (Probe, error) {
	switch m {
	case Docker, Podman:
		return p.probeEngine(ctx, m)
	case Bubblewrap:
		return p.probeOwn(ctx, Probe{
			Tier:  Container,
			Means: Bubblewrap,
			Tool:  "bwrap",
		}, "writes outside are refused, processes and on demand the network are apart, "+
			"tercet's keys are hidden")
	case Landlock:
		return p.probeOwn(ctx, Probe{
			Tier:  Platform,
			Means: Landlock,
		}, "writes outside are refused, on demand TCP too; of reads only those of tercet's keys"+
			openSockets())
	case None:
	}
	return Probe{
		Tier:  Advisory,
		Means: None,
		OK:    true,
		Why: "nothing is refused; what changed is looked at afterwards; a worker can read " +
			"tercet's keys and forge answers",
	}, nil
}

// probeOwn tries a means for which this program restricts what it starts. Does says what it does
// where it works.
func (p *Prober) probeOwn(ctx context.Context, out Probe, does string) (Probe, error) {
	if len(p.Starter.Supervisor) == 0 {
		out.Why = "this program cannot start itself"
		return out, nil
	}
	if out.Tool != "" {
		tool, err := p.Starter.LookPath(out.Tool)
		if err != nil {
			out.Why = "not installed"
			return out, nil //nolint:nilerr // that it is not there is the answer
		}
		out.Tool = tool
	}

	var err error
	if out.Means == Bubblewrap && os.Geteuid() == 0 {
		withUser := out
		withUser.userNS = true
		withUser, err = p.try(ctx, withUser)
		if err != nil {
			return withUser, err
		}
		if withUser.OK {
			out = withUser
		}
	}
	if !out.OK {
		out, err = p.try(ctx, out)
	}
	if out.OK {
		out.Why = does + out.Why
	}
	return out, err
}

// Box gives the Box for a working probe.
func (p *Prober) Box(b Probe) Box {
	return Box{
		Tier:   b.Tier,
		Means:  b.Means,
		Tool:   b.Tool,
		Look:   p.Starter.LookPath,
		Now:    p.Starter.Now,
		Image:  p.Image,
		user:   b.user,
		userNS: b.userNS,
	}
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// attempt writes where it may and where it may not, itself and through a child, reads the secret
// file $4, and tells whether a signal reaches $3.
const attempt = `umask 077 && : > "$TMPDIR/tercet-probe" && echo in > "$1/in" &&
sh -c 'echo in > "$1/deep"' sh "$1" || exit 1
sh -c 'echo out > "$1/out"' sh "$2" 2>/dev/null && exit 1
for name in "$2/out" /tercet-probe /proc/sys/kernel/core_pattern; do ( : > "$name" ) 2>/dev/null &&
	echo "$name can be written" >&2 && exit 1; done
[ -n "$(cat "$4" 2>/dev/null)" ] && echo "what is secret can be read" >&2 && exit 1
if kill -0 "$3" 2>/dev/null; then : > "$1/signal"; fi`

// smallPID is a number that a process of a container may have, so that a signal to it proves
// nothing.
const smallPID = 100

// try runs a program within bounds and looks at what it could write, and whether it belongs to the
// user.
func (p *Prober) try(ctx context.Context, out Probe) (_ Probe, err error) {
	out.OK = false
	dir, remove, err := p.Starter.TempFolder()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	may := filepath.Join(dir, "may")
	not := filepath.Join(dir, "not")
	if err := errors.Join(os.Mkdir(may, 0o700), os.Mkdir(not, 0o700)); err != nil {
		return out, err
	}

	secret := "/etc/passwd" // a file that is everywhere
	if out.image != "" {    // and an image has its own
		secret = filepath.Join(dir, "none")
	}
	limit := probeTime
	if out.image != "" {
		limit = engineTime
	}
	c, err := p.Box(out).Wrap(proc.Command{
		Argv:    []string{"sh", "-c", attempt, "sh", may, not, strconv.Itoa(os.Getpid()), secret},
		Dir:     may,
		Private: true,
		Purpose: proc.PurposeProbe,
		Timeout: proc.Timeout{Total: limit},
	}, Bounds{Write: []string{may}, Secret: []string{secret}})
	if err != nil {
		out.Why = err.Error()
		return out, nil
	}

	res, err := p.Starter.Run(ctx, c)
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	switch {
	case err != nil:
		out.Why = err.Error()
		// the script says nothing to the user
		if _, cause, ok := strings.Cut(out.Why, fmt.Sprintf("%q: ", c)); ok {
			out.Why = cause
		}
	case exists(filepath.Join(not, "out")):
		out.Why = "a write outside was not refused"
	case !res.Success() || !exists(filepath.Join(may, "in")) || !exists(filepath.Join(may, "deep")):
		out.Why = lastLine(res.Stderr)
		if out.Why == "" {
			out.Why = "a program does not run in it"
		}
	case !belongsToUser(filepath.Join(may, "in")):
		out.Why = "the files that it writes do not belong to you"
	case exists(filepath.Join(may, "signal")) && out.Tier == Container && os.Getpid() >= smallPID:
		out.Why = "a signal to a process outside was not refused"
	case exists(filepath.Join(may, "signal")) && out.Tier != Container:
		out.OK = true
		out.Why = "; it can send signals to your other programs: the kernel is too old to " +
			"refuse that"
	default:
		out.OK = true
		out.Why = ""
	}

	return out, nil
}

// belongsToUser tells whether a file belongs to this process's user: no other user may change its
// mode.
func belongsToUser(name string) bool {
	return os.Chmod(name, 0o600) == nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

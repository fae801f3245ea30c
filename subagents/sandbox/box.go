package sandbox

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"tercet/internal/proc"
)

// Bounds are what a program may do. Paths are absolute; those that do not exist are left out.
type Bounds struct {
	Write []string `json:"write,omitempty"` // may be written, with everything below; the private TMPDIR is one of them
	Keep  []string `json:"keep,omitempty"`  // inside Write, but stays as it is; in a container only
	Hide  []string `json:"hide,omitempty"`  // looks empty; in a container only
	Net   bool     `json:"net,omitempty"`   // may speak to other machines
}

// Box puts programs within bounds by one means.
type Box struct {
	Tier  Tier
	Means Means
	// Enter are the words of this program before those of the program within bounds: it must call Enter.
	Enter []string
	// Tool is the path of the program that makes a container, empty for others.
	Tool string
	// Look finds programs as the Starter does.
	Look func(name string) (string, error)
}

// String is the tier with its means, as results show it.
func (b Box) String() string {
	if b.Tier == Advisory || b.Means == "" {
		return b.Tier.String()
	}
	return b.Tier.String() + " (" + b.Means.String() + ")"
}

// order is what Enter is told.
type order struct {
	Means  Means
	Tool   string
	Bounds Bounds
	Path   string
}

// Wrap gives the command within bounds. In the tier advisory_only it is the command itself.
func (b Box) Wrap(c proc.Command, bounds Bounds) (proc.Command, error) {
	if b.Tier == Advisory {
		return c, nil
	}
	if len(c.Argv) == 0 {
		return c, &proc.NotFoundError{}
	}
	path := c.Argv[0]
	if strings.ContainsRune(path, '/') && !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	path, err := b.Look(path)
	if err != nil {
		return c, err
	}
	text, err := json.Marshal(order{Means: b.Means, Tool: b.Tool, Bounds: bounds, Path: path})
	if err != nil {
		return c, err
	}
	words := append(append([]string{}, b.Enter...), string(text))
	c.Argv = append(words, c.Argv...)
	return c, nil
}

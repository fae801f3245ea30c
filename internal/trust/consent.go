package trust

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"tercet/formats"
	"tercet/internal/nearest"
)

// flowCommands are the commands that the auto-approve files of other tools apply to.
var flowCommands = []string{
	"discovery-flow", "delivery-flow", "operations-flow", "maintenance-flow", "doc-flow", "analyst",
}

// consentKeys are the keys of an auto-approve file, in the order in which a message lists them.
var consentKeys = []string{"APPROVE", "COMMANDS", "UNTIL", "PLAN", "PRODUCT_TYPE", "HAS_UI"}

// consentValues are the allowed values of a key; a key without an entry is checked by its reader.
var consentValues = map[string][]string{
	"APPROVE":      {"yes", "no"},
	"PLAN":         {"Minimal", "Light", "Standard", "Full", "Patch", "Minor", "Major"},
	"PRODUCT_TYPE": {"service", "tool", "library", "cli"},
	"HAS_UI":       {"yes", "no", "true", "false"},
}

// Consent says whether the project's auto-approve file answers the gates of a run that starts now.
type Consent struct {
	formats.Consent

	Absent string // why an existing file does not apply, in one line
}

// Consent reads the auto-approve file of a trusted project. An empty file approves. Unknown lines
// are a *formats.Diagnostics of code CONFIG with all of them.
func (g *Gate) Consent(command string, now time.Time) (Consent, error) {
	v, err := g.Verdict()
	if err != nil || v.By == "" {
		return Consent{}, nil //nolint:nilerr // missing trust is reported where something would run
	}

	at := slices.IndexFunc(autoApproves, func(name string) bool {
		f, ok := v.Manifest.File(name)
		return ok && f.Problem == ""
	})
	if at < 0 {
		return Consent{}, nil
	}

	name := autoApproves[at]
	text, err := fs.ReadFile(g.FS("."), name)
	if err != nil {
		return Consent{}, err
	}

	c := autoApprove{commands: flowCommands}
	if name == autoApproves[0] {
		c.commands = nil
	}
	c.read(name, string(formats.WithoutBOM(text)))
	if len(c.found) > 0 {
		return Consent{}, &formats.Diagnostics{
			List:    c.found,
			Sources: map[string][]byte{name: text},
			Of:      formats.CodeConfig,
		}
	}

	why := ""
	switch {
	case c.denies:
		why = "APPROVE is no"
	case c.commands != nil && !slices.Contains(c.commands, command):
		why = fmt.Sprintf("it is for %s, not for %s", strings.Join(c.commands, ", "), command)
	case !c.until.IsZero() && now.After(c.until):
		why = "it was good until " + c.until.Format(time.RFC3339)
	}

	if why != "" {
		return Consent{Absent: name + " answers nothing: " + why}, nil
	}
	c.in.File = name
	return Consent{Consent: c.in}, nil
}

// autoApprove is a parsed auto-approve file.
type autoApprove struct {
	in       formats.Consent
	denies   bool
	commands []string // nil: all
	until    time.Time
	found    []formats.Diagnostic
}

// read parses lines `KEY: value`; `#` begins a comment.
func (c *autoApprove) read(name, text string) {
	seen := map[string]bool{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		body := strings.TrimSpace(line)
		if body == "" || body[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(body, ":")
		key = strings.TrimSpace(key)
		value = strings.TrimSpace(value)
		at := formats.Pos{Line: number, Col: 1 + strings.Index(line, body)}
		add := func(help, format string, args ...any) {
			c.found = append(c.found, formats.Diagnostic{
				Code:     formats.FindingConsent,
				Severity: formats.SeverityError,
				File:     name,
				Pos:      at,
				Message:  fmt.Sprintf(format, args...),
				Help:     help,
			})
		}
		switch {
		case !ok:
			add("an empty file approves; to refuse write APPROVE: no, or remove the file",
				"expected KEY: value, got %q", body)
		case !slices.Contains(consentKeys, key):
			all := "the keys are " + strings.Join(consentKeys, ", ")
			add(cmp.Or(nearest.Help(strings.ToUpper(key), consentKeys), all), "unknown key %q", key)
		case seen[key]:
			add("", "the key %s stands twice", key)
		default:
			at.Col += len(body) - len(value) // position of the value
			if want := c.set(key, value); want != "" {
				add("", "expected %s for %s, got %q", want, key, value)
			}
			if key == "PLAN" {
				c.in.Plan = value
				c.in.At = at
			}
		}
		seen[key] = true
	}
}

// set sets a value; want says what was expected if the value is invalid.
func (c *autoApprove) set(key, value string) (want string) {
	values := consentValues[key]
	if values != nil && !slices.Contains(values, value) {
		return "one of " + strings.Join(values, ", ")
	}

	switch key {
	case "APPROVE":
		c.denies = value == "no"
	case "COMMANDS":
		c.commands = []string{}
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimPrefix(strings.TrimSpace(name), "/"); name == "" {
				return "names of commands with commas between them"
			}
			c.commands = append(c.commands, name)
		}
	case "UNTIL":
		day, err := time.Parse(time.DateOnly, value)
		if err == nil {
			c.until = day.AddDate(0, 0, 1)
			return ""
		}
		c.until, err = time.Parse(time.RFC3339, value)
		if err != nil {
			return "a date such as 2030-01-31 or a time such as 2030-01-31T18:00:00Z"
		}
	}

	return ""
}

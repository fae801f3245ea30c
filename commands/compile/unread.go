package compile

import (
	"regexp"
	"slices"
	"strings"

	"tercet/commands/argspec"
	"tercet/commands/syntax"
	"tercet/formats"
)

// unread is what is known of the parts of a file that could not be read. A finding elsewhere that
// such a part may be the cause of would be noise: it goes when the part is mended.
type unread struct {
	lines      []syntax.Lines
	errors     []syntax.Pos
	text       string          // of the lines
	names      string          // the same as ids: lower case, '_' for what an id cannot have
	front      bool            // the frontmatter is among them
	brokenKeys map[string]bool // keys whose values are errors
	noFront    bool            // there is none
	steps      bool            // something below it is
	quoted     *regexp.Regexp
}

// unreadOf gives nil for a file that was read whole.
func unreadOf(f *syntax.File) *unread {
	if len(f.Unread) == 0 {
		return nil
	}
	u := &unread{
		lines:      f.Unread,
		brokenKeys: map[string]bool{},
		front:      f.NoFront,
		noFront:    f.NoFront && f.Front.Pos.IsZero(),
		quoted:     regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\$\w+)`),
	}

	lines := strings.Split(string(f.Src), "\n")
	for _, d := range f.Found {
		if d.Severity != formats.SeverityError {
			continue
		}
		u.errors = append(u.errors, d.Pos)
		at := min(d.Pos.Line, len(lines)) - 1
		if key, _, ok := strings.Cut(lines[at], ":"); ok {
			u.brokenKeys[strings.Trim(key, " \t-{")] = true
		}
	}

	for _, l := range f.Unread {
		if l.From <= f.Front.Pos.Line {
			u.front = true
		} else {
			u.steps = true
		}
		from := min(l.From-1, len(lines))
		to := min(l.To, len(lines))
		u.text += strings.Join(lines[from:to], "\n") + "\n"
	}

	u.names = regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(strings.ToLower(u.text), "_")
	return u
}

// mentions tells whether a word stands in what could not be read.
func (u *unread) mentions(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "" || strings.Contains(u.text, w) || strings.Contains(u.names, w)
	})
}

// explains tells whether a finding may come of what could not be read.
func (u *unread) explains(d *formats.Diagnostic) bool {
	if d.Pos.IsZero() || strings.Contains(d.Message, "''") || strings.Contains(d.Message, `""`) {
		return true // about a word that could not be read
	}
	unread := slices.ContainsFunc(u.lines, func(l syntax.Lines) bool {
		return l.Has(d.Pos.Line)
	})
	if unread && (u.hasErrorAt(d) || !isLocalFact(d)) {
		return true
	}

	switch d.Code {
	case CodeStep, CodeVariable, CodeArgument, CodeField, CodeMember:
		return u.mayBeNamed(d)
	case CodeNotYetRun, CodeRedo:
		return u.mayBeNamed(d) || u.steps && u.mentions("redo", "rollback", "goto")
	case CodeTier:
		return u.mayBeNamed(d) || u.steps || u.front
	case CodeNoTask:
		return u.front || u.mentions("load", "task")
	case CodeAllow, CodeTransition, argspec.CodeOrder:
		return u.front || u.steps
	case CodeInput:
		return !isLocalFact(d) && u.mayBeGiven(d)
	case CodeOutcome:
		return !isLocalFact(d) && u.mentions("expect")
	case CodeUnreachable, CodeAction, CodeAroundStep, CodeSentence, CodeUnmade:
		return u.steps
	}

	return false
}

// isLocalFact tells whether a finding is about the words that stand at its place and nothing else.
func isLocalFact(d *formats.Diagnostic) bool {
	switch d.Code {
	case CodeInput: // one that is missing may be given where nothing could be read
		return !strings.Contains(d.Message, " needs the input ")
	case CodeOutcome:
		return strings.HasPrefix(d.Message, "expected ")
	case CodeStatus:
		return !strings.HasPrefix(d.Message, "allow names ")
	case CodeUnknownKey, CodeLimitValue, CodeStep, CodeStepTwice, CodeMember, CodeProfile, CodeName,
		CodeExit,
		CodeArtifact, CodeRetries,
		CodeBareMerge, CodeTalks, CodeMayNot, CodeAgent,
		CodeExpression, CodeVariable, CodeArgument, CodeField, CodePlainVar, CodePlainText,
		CodeOrElse:
		return true
	}
	return false
}

// hasErrorAt tells whether an error of the syntax stands at the place of a finding, for expressions
// on its line.
func (u *unread) hasErrorAt(d *formats.Diagnostic) bool {
	expression := d.Code == CodeExpression || d.Code == CodeVariable || d.Code == CodeArgument
	return slices.ContainsFunc(u.errors, func(p syntax.Pos) bool {
		return p == d.Pos || expression && p.Line == d.Pos.Line
	})
}

// mayBeNamed tells whether a name that a finding is about stands in what could not be read, or is
// given by it without a word.
func (u *unread) mayBeNamed(d *formats.Diagnostic) bool {
	for _, m := range u.quoted.FindAllStringSubmatch(d.Message, -1) {
		name := strings.TrimPrefix(m[1]+m[2]+m[3], "$")
		loops := (name == "item" || name == "index") && u.mentions("foreach", "for_each")
		nameless := d.Code == CodeStep && u.brokenKeys["id"] ||
			d.Code == CodeVariable && u.brokenKeys["as"]
		if nameless || loops || u.mentions(name) || name == tierName && u.mentions("tiers") {
			return true
		}
	}
	return d.Code == CodeArgument && u.noFront
}

// mayBeGiven tells whether an input that is missing may stand in what could not be read.
func (u *unread) mayBeGiven(d *formats.Diagnostic) bool {
	m := u.quoted.FindStringSubmatch(d.Message)
	return m == nil || u.mentions(m[1]+":") || u.front && u.mentions(m[1])
}

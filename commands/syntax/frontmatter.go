package syntax

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"tercet/formats"
	"tercet/internal/md"
	"tercet/internal/nearest"
)

// Limits of the frontmatter, in characters.
const (
	maxCommand     = 32
	maxDescription = 120
)

// readFront reads the frontmatter.
func (p *parser) readFront() {
	f := &p.file.Front
	if p.foreign != nil {
		defer func() {
			f.Command.Text = p.foreign.Command
			f.Description.Text = p.foreign.Description
		}()
	}
	if !p.doc.HasFront {
		explained := p.hasFinding(md.CodeFrontUnclosed) || p.hasFinding(md.CodeLineEnds)
		if p.foreign == nil && !explained {
			p.report(
				CodeNoFront,
				Pos{Line: 1, Col: 1},
				"start the file with ---, command:, description: and ---",
				"file has no frontmatter",
			)
		}
		return
	}

	f.Pos = p.doc.FrontSpan.Start
	n := p.doc.Front
	if n == nil {
		if len(p.found) == 0 && p.foreign == nil {
			p.reportMissing("command")
			p.reportMissing("description")
		}
		return
	}

	p.checkStrays(n)
	p.Value = CodeFrontValue
	p.Key = CodeKey
	defer func() {
		p.Value = CodeValue
		p.Key = CodeStepKey
	}()
	if p.foreign != nil {
		p.readForeignFront(n)
		return
	}

	p.warnOtherKeys(n)
	p.fill(f, frontForm, n, nil)
	p.checkCommandName(f.Command)
	p.checkDescription(f.Description)
	for _, key := range []string{"command", "description"} {
		if n.Get(key) == nil {
			p.reportMissing(key)
		}
	}
}

// warnOtherKeys warns of keys by which other systems say what tercet does by itself.
func (p *parser) warnOtherKeys(n *md.Node) {
	for _, e := range n.Entries {
		if slices.Contains(formats.DepthKeys(), e.Key.Value) {
			p.report(CodeOtherForm, e.Key.Pos, "take it away",
				"key '%s' is ignored: tercet counts the depth by itself", e.Key.Value)
		}
	}
}

// namesOnly tells whether a value lists names, as other tools declare arguments.
func namesOnly(v *md.Node) bool {
	return v.Kind == md.Scalar || len(v.Items) > 0 && v.Items[0].Kind == md.Scalar
}

// readForeignFront reads the frontmatter of a file of another tool. A list of names is what that
// declares as arguments.
func (p *parser) readForeignFront(n *md.Node) {
	f := &p.file.Front
	form := frontForm
	p.warnOtherKeys(n)
	form.Foreign = slices.Concat(
		[]string{"description"}, formats.DepthKeys(), inertKeys, p.foreign.Keys,
	)
	v := n.Get("arguments")
	if v != nil && namesOnly(v) {
		form.Foreign = append(form.Foreign, "arguments")
		names := strings.Fields(v.Value)
		for _, item := range v.Items {
			names = append(names, item.Value)
		}
		for _, name := range names {
			f.Arguments = append(f.Arguments, Argument{
				Pos:  v.Pos,
				Name: Word{v.Pos, name},
				Type: Word{v.Pos, "string"},
			})
		}
	} else {
		form.Foreign = slices.DeleteFunc(form.Foreign, func(key string) bool {
			return key == "arguments"
		})
	}

	for _, e := range n.Entries {
		key := e.Key.Value
		if form.key(key).Name != "" || slices.Contains(form.Foreign, key) {
			continue
		}
		form.Foreign = append(form.Foreign, key)
		help := nearest.Help(key, form.keys().Keys)
		p.report(p.foreign.Unknown, e.Key.Pos, help,
			"key %q means nothing here; it is kept", key)
	}

	p.fill(f, form, n, nil)

	called := p.foreign.Command[strings.LastIndexByte(p.foreign.Command, ':')+1:]
	if f.Command.Text != "" &&
		f.Command.Text != called {
		p.report(p.foreign.Misnamed, f.Command.Pos,
			"rename the file, or take the key away",
			"the file is called as /%s, not as %q: the name of a command is that of its file",
			p.foreign.Command, f.Command.Text)
	}
}

// declareForeignArguments declares the arguments of a file of another tool that declares none:
// those that its sentences extract, else the text as it was typed.
func (p *parser) declareForeignArguments() {
	f := p.file
	for _, say := range f.Sentences {
		at := func(a Argument) bool { return a.Name.Text == say.Name.Text }
		i := slices.IndexFunc(f.Front.Arguments, at)
		switch {
		case say.Kind == SayExtract && i < 0 && say.Index == len(f.Front.Arguments):
			f.Front.Arguments = append(f.Front.Arguments, Argument{
				Pos:      say.Pos,
				Name:     say.Name,
				Type:     Word{say.Pos, "string"},
				Required: !say.Opt,
			})
		case say.Kind == SayPositive && i >= 0:
			f.Front.Arguments[i].Type.Text = "integer"
		}
	}

	if len(f.Front.Arguments) == 0 {
		at := Pos{Line: p.doc.BodyLine, Col: 1}
		f.Front.Arguments = []Argument{{
			Pos:  at,
			Name: Word{at, "arguments"},
			Type: Word{at, "text"},
		}}
	}
}

func (p *parser) reportMissing(key string) {
	p.report(CodeMissing, p.doc.FrontSpan.Start, "add '"+key+": ...'",
		"frontmatter has no '%s'", key)
}

// checkCommandName checks the form of the name and that the file bears it.
func (p *parser) checkCommandName(w Word) {
	if w.Text == "" {
		return
	}
	if !isName(w.Text, '-') || len(w.Text) > maxCommand {
		p.report(CodeFrontValue, w.Pos,
			"",
			"expected a name of at most %d lower case letters, digits and '-', got %q", maxCommand,
			w.Text)
		return
	}

	if base := path.Base(p.file.Name); base != w.Text+".md" {
		p.report(CodeFileName, w.Pos, "rename the file to "+w.Text+".md, or change the name",
			"command '%s' stands in a file named %s", w.Text, base)
	}
}

// checkDescription holds a description to one line that is not too long.
func (p *parser) checkDescription(d Word) {
	const help = "shorten it; details belong into the body"
	text := strings.TrimSpace(d.Text)
	n := utf8.RuneCountInString(text)
	switch {
	case strings.Contains(text, "\n"):
		p.report(CodeFrontValue, d.Pos, help,
			"expected one line of at most %d characters, got %d lines",
			maxDescription, strings.Count(text, "\n")+1)
	case n > maxDescription:
		p.report(CodeFrontValue, d.Pos, help, "expected one line of at most %d characters, got %d",
			maxDescription, n)
	}
}

// isName reports a lower case letter followed by such letters, digits and one other character.
func isName(s string, other byte) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return s != "" && strings.IndexByte(letters, s[0]) >= 0 &&
		strings.Trim(s, letters+"0123456789"+string(other)) == ""
}

func (p *parser) arguments(n *md.Node) (out []Argument) {
	if n.Kind != md.List {
		p.Wrong(n, "a list of arguments", "write - {name: ..., type: ...}")
		return nil
	}
	for _, item := range n.Items {
		a := Argument{Pos: item.Pos}
		p.fill(&a, argumentForm, item, func(key string, _ *md.Node) bool {
			return key == "min" || key == "max"
		})

		if item.Kind == md.Map {
			a.Min = p.bound(a.Type, item.Get("min"))
			a.Max = p.bound(a.Type, item.Get("max"))
		}
		if item.Kind == md.Map && item.Get("name") == nil {
			p.report(CodeMissing, a.Pos, "add 'name: ...'", "argument has no 'name'")
			continue
		}
		if item.Kind == md.Map {
			out = append(out, a)
		}
	}
	return out
}

// bound reads a number, or a duration for arguments of that type.
func (p *parser) bound(kind Word, n *md.Node) *float64 {
	if n == nil {
		return nil
	}
	if n.IsStr() && kind.Text == "duration" {
		d := p.duration(n)
		return &d
	}
	return p.number(n)
}

// tiers reads the ordered names of the tiers.
func (p *parser) tiers(n *md.Node) []Word {
	if n.Kind != md.List || len(n.Items) == 0 {
		p.Wrong(n, "a list of names", "write [Light, Standard, Full]")
		return nil
	}
	out := p.words(n, "the name of a tier")

	for i, w := range out {
		if !isVariable(w.Text) {
			p.report(CodeFrontValue, w.Pos, "",
				"expected a name of letters, digits and '_', got %q", w.Text)
		}
		if slices.ContainsFunc(out[:i], func(o Word) bool { return o.Text == w.Text }) {
			p.report(CodeFrontValue, w.Pos, "remove one", "tier '%s' stands twice", w.Text)
		}
	}
	return out
}

func (p *parser) worktree(n *md.Node) *Worktree {
	w := &Worktree{Pos: n.Pos}
	p.fill(w, worktreeForm, n, func(key string, v *md.Node) bool {
		if key != "per" {
			return false
		}

		w.Per = p.word(v, "run")
		if w.Per.Text != "" && w.Per.Text != "run" && w.Per.Text != PerChild {
			p.report(CodeFrontValue, w.Per.Pos, "",
				"expected per: run or per: child, got %q", w.Per.Text)
		}
		return true
	})
	return w
}

func (p *parser) during(n *md.Node) *During {
	d := record[During](p, duringForm, n)
	if n.Kind == md.Map && n.Get("status") == nil {
		p.report(CodeMissing, d.Pos, "add 'status: ...'", "'during' has no 'status'")
	}
	return d
}

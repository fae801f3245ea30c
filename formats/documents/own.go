package documents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

var (
	profileName = lazy.Regexp(`^[a-z][a-z0-9-]{0,31}$`)
	headingWord = lazy.Regexp(`^\p{L}[\p{L}\p{M} '-]{0,30}$`)
)

// MaxProfiles and maxProfile bound the profiles of a project: their number, and the bytes of a
// file.
const (
	MaxProfiles = 100
	maxProfile  = 64 << 10
)

// ProjectProfiles are the profiles of a project, and behind them the shipped ones. Nil has only
// these. It does not change.
type ProjectProfiles struct {
	files map[string]projectProfile
}

// projectProfile is a profile of the project, or what is wrong with its file.
type projectProfile struct {
	rules *profile
	sum   string // SHA-256 of its file
	err   error
}

// ReadProjectProfiles reads the files NAME.yaml of a folder. A folder that does not exist has none.
// A file that cannot be used is an error only for whoever asks for its profile.
func ReadProjectProfiles(files fs.FS) *ProjectProfiles {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil || len(names) == 0 {
		return nil
	}

	out := &ProjectProfiles{files: map[string]projectProfile{}}
	for _, file := range names[:min(len(names), MaxProfiles)] {
		name := strings.TrimSuffix(file, ".yaml")
		p, sum, err := readProjectProfile(files, file, name)
		out.files[name] = projectProfile{p, sum, err}
	}
	return out
}

// readProjectProfile reads a profile of the project. Its kind of document is one with sections: the
// other readers are those of tercet's own files.
func readProjectProfile(files fs.FS, file, name string) (p *profile, sum string, err error) {
	fail := func(format string, args ...any) error {
		return formats.Fail(formats.CodeConfig, "docs/reference/profiles.md has the keys",
			formats.Workspace+"/profiles/"+file+": "+format, args...)
	}

	if !profileName().MatchString(name) {
		return nil, "", fail("expected a name of small letters, digits and '-', got %q", name)
	}
	src, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, "", fail("%v", err)
	}

	sum = formats.Sum(src)
	if len(src) > maxProfile {
		return nil, sum, fail("expected at most %d bytes, got %d", maxProfile, len(src))
	}

	p, err = parseProfile(src, file, name)
	if err == nil {
		err = p.checkProject()
	}
	if err != nil {
		text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), file), ":")
		text = strings.Replace(text, "json: unknown field", "unknown key", 1)
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			text = fmt.Sprintf(
				"expected another kind of value for %s, got a %s", kind.Field, kind.Value,
			)
		}
		return nil, sum, fail("%s", strings.TrimSpace(text))
	}
	return p, sum, nil
}

// Sums are the hashes of the project's files, by their names.
func (p *ProjectProfiles) Sums() map[string]string {
	if p == nil {
		return nil
	}
	out := map[string]string{}
	for name, one := range p.files {
		out[name+".yaml"] = one.sum
	}
	return out
}

// checkProject checks what a profile of a project may say.
func (p *profile) checkProject() error {
	switch {
	case p.Reader != readSections:
		return errors.New("the key reader is not for profiles of a project")
	case len(p.Sections)+len(p.Fields) == 0:
		return errors.New("expected sections or fields, got neither")
	case p.Phases != "" && p.section(p.Phases) == nil:
		return fmt.Errorf("phases names the section %q, which is not among the sections", p.Phases)
	case p.Phases == "" && (p.Phase != nil || p.Strict):
		return errors.New("expected phases: SECTION beside phase and strict, got none")
	}

	for i, s := range p.Sections {
		_, twice := matchName(s.Name, p.sectionNames()[:i])
		if strings.TrimSpace(s.Name) == "" || twice {
			return fmt.Errorf("expected a name of its own for section %d, got %q", i+1, s.Name)
		}
	}

	if p.Phase == nil {
		return nil
	}
	return p.Phase.compile()
}

// phaseRule is how the headings of phases are written in a profile.
type phaseRule struct {
	Words words                 `json:"words"` // for "Phase"; the first one is shown in advice
	Marks map[PhaseStatus]words `json:"marks"` // for the statuses; the first one is written
	Parts *[]string             `json:"parts"` // of each phase: goal, tasks, timing; nil: all

	heading *regexp.Regexp // a heading that begins with one of Words
	mark    *regexp.Regexp // a mark at the end
}

// phaseParts are the parts that a profile may require of a phase.
const (
	partGoal   = "goal"
	partTasks  = "tasks"
	partTiming = "timing"
)

// words is a word or a list of them.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*w = words{one}
		return nil
	}
	var list []string
	err := json.Unmarshal(text, &list)
	*w = list
	return err
}

func (p *phaseRule) compile() error {
	for _, w := range p.Words {
		if !headingWord().MatchString(w) {
			return fmt.Errorf("expected words of letters for phases, got %q", w)
		}
	}

	seen := map[string]PhaseStatus{}
	for _, status := range slices.Sorted(maps.Keys(p.Marks)) {
		if _, err := ParsePhaseStatus(string(status)); err != nil {
			return err
		}
		for _, w := range p.Marks[status] {
			before, twice := seen[strings.ToLower(w)]
			if !headingWord().MatchString(w) || twice {
				return fmt.Errorf("expected a word of its own as the mark of %s, got %q%s",
					status, w, formats.Prefixed(", which is that of ", string(before)))
			}
			seen[strings.ToLower(w)] = status
		}
	}

	if p.Parts != nil {
		for _, part := range *p.Parts {
			if _, err := formats.OneOf("part of a phase", part,
				[]string{partGoal, partTasks, partTiming}); err != nil {
				return err
			}
		}
	}

	if len(p.Words) > 0 {
		p.heading = regexp.MustCompile(
			`(?i)^([^\p{L}\p{N}]*)(` + alternatives(p.Words) + `)([\s\p{Z}]*[0-9])`,
		)
	}

	if len(seen) > 0 {
		p.mark = regexp.MustCompile(
			`(?i)[\[(]\s*(` + alternatives(slices.Sorted(maps.Keys(seen))) + `)\s*[\])]([\s*_#]*)$`)
	}
	return nil
}

// alternatives is a form that matches one of the words, the longest ones first.
func alternatives(list []string) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i, w := range list {
		list[i] = regexp.QuoteMeta(w)
	}
	return strings.Join(list, "|")
}

// toShippedWords is the heading of a phase in the words of the shipped profile.
func (p *phaseRule) toShippedWords(heading string) string {
	if p == nil {
		return heading
	}
	if p.heading != nil {
		heading = p.heading.ReplaceAllString(heading, "${1}Phase${3}")
	}
	if p.mark == nil {
		return heading
	}

	m := p.mark.FindStringSubmatchIndex(heading)
	if m == nil {
		return heading
	}

	for status, list := range p.Marks {
		for _, w := range list {
			if strings.EqualFold(w, heading[m[2]:m[3]]) {
				return heading[:m[0]] + "[" + status.Mark() + "]" + heading[m[4]:m[5]]
			}
		}
	}
	return heading
}

// setMark is the function setMark in the words of the profile.
func (p *phaseRule) setMark(line string, to PhaseStatus) string {
	if p == nil {
		return setMark(line, to)
	}

	hashes := len(line) - len(strings.TrimLeft(line, "# \t"))
	text := line[hashes:]
	marked := setMark(p.toShippedWords(text), to)

	if p.heading != nil {
		if m := p.heading.FindStringSubmatch(text); m != nil {
			marked = strings.Replace(marked, "Phase", m[2], 1)
		}
	}

	if list := p.Marks[to]; len(list) > 0 {
		open := "["
		closing := "]"
		if p.mark != nil {
			at := p.mark.FindStringIndex(text)
			if at != nil && text[at[0]] == '(' {
				open = "("
				closing = ")"
			}
		}
		marked = strings.Replace(marked, "["+to.Mark()+"]", open+list[0]+closing, 1)
	}

	return line[:hashes] + marked
}

// phaseWord is what a phase is called in advice.
func (p *phaseRule) phaseWord() string {
	if p == nil || len(p.Words) == 0 {
		return "Phase"
	}
	return p.Words[0]
}

// markOf is how a status is written in advice.
func (p *phaseRule) markOf(s PhaseStatus) string {
	if p == nil || len(p.Marks[s]) == 0 {
		return s.Mark()
	}
	return p.Marks[s][0]
}

// example is the heading of a phase in advice.
func (p *phaseRule) example(number int) string {
	return fmt.Sprintf("### %s %d: name [%s]", p.phaseWord(), number, p.markOf(PhaseNotStarted))
}

// requires reports whether every phase has to have a part.
func (p *phaseRule) requires(part string) bool {
	return p == nil || p.Parts == nil || slices.Contains(*p.Parts, part)
}

// Names lists the names of the project's profiles and of the shipped ones.
func (p *ProjectProfiles) Names() []string {
	out := Profiles()
	if p != nil {
		out = append(out, slices.Sorted(maps.Keys(p.files))...)
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// rules returns the rules of a profile, those of the project first.
func (p *ProjectProfiles) rules(name string) (*profile, error) {
	if p != nil {
		if found, ok := p.files[name]; ok {
			return found.rules, found.err
		}
	}
	found, err := profileOf(name)
	if err != nil {
		err = &formats.ValueError{What: "profile", Got: name, Want: p.Names()}
	}
	return found, err
}

// Form says in words how a document of a profile of the project is written; empty for a shipped
// one, whose form its subagent knows.
func (p *ProjectProfiles) Form(name string) string {
	if p == nil || p.files[name].rules == nil {
		return ""
	}
	return p.files[name].rules.form()
}

// form says how a document is written.
func (p *profile) form() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The project has its own form of a %s, which counts instead of any other:\n",
		p.name)
	b.WriteString("\n- a level-1 title")
	if len(p.Fields) > 0 {
		fmt.Fprintf(&b, ", then a list of metadata, each as `- **Name**: value`: %s",
			strings.Join(p.Fields, ", "))
	}

	var required, optional []string
	for _, s := range p.Sections {
		if s.Optional {
			optional = append(optional, s.Name)
		} else {
			required = append(required, s.Name)
		}
	}

	if required != nil {
		fmt.Fprintf(&b,
			"\n- level-2 sections, none of them empty: %s", strings.Join(required, ", "))
	}
	if optional != nil {
		fmt.Fprintf(&b, "\n- if there is something to say: %s", strings.Join(optional, ", "))
	}

	if p.Phases != "" {
		fmt.Fprintf(&b, "\n- in the section %s a heading `### %s N: name [%s]` for each phase",
			p.Phases, p.Phase.phaseWord(), p.Phase.markOf(PhaseNotStarted))
		for _, part := range []struct{ name, text string }{
			{partGoal, "`- **Goal**: ...`"},
			{partTasks, "a checklist `- [ ] ...` under `- **Tasks**:`"},
			{partTiming, "`- **Timing**: ...`"},
		} {
			if p.Phase.requires(part.name) && p.Strict {
				b.WriteString("; " + part.text)
			}
		}
	}

	return b.String() + "\n"
}

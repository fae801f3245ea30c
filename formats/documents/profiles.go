package documents

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"tercet/formats"
	"tercet/internal/md"
	flows "tercet/templates/packs/flows/profiles"
)

// The profiles that tercet itself works with.
const (
	ProfilePlan         = "plan"
	ProfileReport       = "report"
	ProfileSummary      = "summary"
	ProfileReview       = "review"
	ProfileTask         = "task"
	ProfileAutoApprove  = "auto-approve"
	ProfileArchitecture = "architecture"
	ProfilePlanning     = "planning"
	ProfileRules        = "rules"
	profilePayload      = "payload"
)

// The profiles of tercet's own files. lint checks them; Parse does not know them.
const (
	ProfileCommand  = "command"
	ProfileSubagent = "subagent"
)

// profile is the rules of one kind of document: the content of a file of profiles.
type profile struct {
	name     string
	Reader   reading       `json:"reader"`
	Label    string        `json:"label"`    // prefix of the title of a rendered document
	Title    string        `json:"title"`    // beginning of the heading of level 1; empty: any
	Titled   bool          `json:"titled"`   // a heading of any level is required
	File     string        `json:"file"`     // name of its file
	Legacy   []string      `json:"legacy"`   // older file names
	Variants []string      `json:"variants"` // older forms
	Fields   []string      `json:"fields"`   // metadata bullets, each required and not empty
	Keys     []keyRule     `json:"keys"`
	Sections []sectionRule `json:"sections"` // of level 2
	Phases   string        `json:"phases"`   // section with the phases; empty: none
	Strict   bool          `json:"strict"`   // phases are required, each with its parts
	Phase    *phaseRule    `json:"phase"`    // how their headings are written
	Spelled  spellings     `json:"spelled"`  // other names of fields
	Filled   string        `json:"filled"`   // document or sections: where something has to stand
	Tasks    *tasksRule    `json:"tasks"`
	Topic    *topicRule    `json:"topic"`
	Issue    bool          `json:"issue"` // it may name an issue, in a payload or in a line
	Checks   []checkRule   `json:"checks"`
}

// spellings are other words for names.
type spellings map[string]words

// reading is the way in which a document is read.
type reading string

const (
	readSections reading = ""        // metadata and sections, all required
	readKeys     reading = "keys"    // a handoff document: lines `key: value`
	readPayload  reading = "payload" // a record of keys instead of markdown
	readRecords  reading = "records" // errors.json
)

// sectionNames are the names of the sections in their order.
func (p *profile) sectionNames() []string {
	out := make([]string, len(p.Sections))
	for i, s := range p.Sections {
		out[i] = s.Name
	}
	return out
}

// loader reads a profile once.
type loader struct {
	name string
	load func() (*profile, error)
}

//go:embed profiles/*.yaml
var ownProfiles embed.FS

// loaders lists the profiles, the own ones first. Each is read when it is first needed.
var loaders = sync.OnceValue(func() []loader {
	var out []loader
	for _, pattern := range []struct {
		files fs.FS
		glob  string
	}{{ownProfiles, "profiles/*.yaml"}, {flows.Files, "*.yaml"}} {
		names, _ := fs.Glob(pattern.files, pattern.glob) //nolint:errcheck // the pattern is valid
		for _, file := range names {
			name := strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".yaml")
			out = append(out, loader{name, sync.OnceValues(func() (*profile, error) {
				return loadProfile(pattern.files, file, name)
			})})
		}
	}
	return out
})

// loadProfile reads the file of a profile.
func loadProfile(files fs.FS, file, name string) (*profile, error) {
	src, err := fs.ReadFile(files, file)
	if err != nil {
		return nil, err
	}
	return parseProfile(src, file, name)
}

// parseProfile reads the text of a profile.
func parseProfile(src []byte, file, name string) (*profile, error) {
	node, problems := md.ParseYAML(src, md.Pos{})
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s:%d: %s", file, problems[0].Pos.Line, problems[0].Msg)
	}

	text, err := json.Marshal(node.Any())
	if err != nil {
		return nil, err
	}
	p := &profile{name: name}

	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	if err := p.compile(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// profileOf returns the rules of a profile. The error names the profiles that there are.
func profileOf(name string) (*profile, error) {
	for _, l := range loaders() {
		if l.name == name {
			return l.load()
		}
	}
	return nil, &formats.ValueError{What: "profile", Got: name, Want: Profiles()}
}

// Profiles lists the shipped profiles.
func Profiles() []string {
	var out []string
	for _, l := range loaders() {
		out = append(out, l.name)
	}
	return out
}

// FileProfiles lists the profiles of tercet's own files.
func FileProfiles() []string {
	return []string{ProfileCommand, ProfileSubagent}
}

// HandoffFiles lists the file names of a handoff profile, the current one first; none for other
// profiles.
func HandoffFiles(name string) []string {
	p, err := profileOf(name)
	if err != nil || p.File == "" {
		return nil
	}
	return append([]string{p.File}, p.Legacy...)
}

// IsHandoff reports whether a profile has fields instead of sections. Errors in such a document do
// not prevent loading it.
func IsHandoff(name string) bool {
	p, err := profileOf(name)
	return err == nil && p.Reader == readKeys
}

// Variants lists the older forms of a profile.
func Variants(name string) []string {
	p, err := profileOf(name)
	if err != nil {
		return nil
	}
	return p.Variants
}

package project

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tercet/commands/lint"
	"tercet/formats"
	"tercet/formats/documents"
	"tercet/formats/returns"
	"tercet/internal/nearest"
	"tercet/internal/secrets"
	"tercet/subagents"
	"tercet/subagents/builtin"
)

// ProfileTemplate is the profile of the template of a deliverable.
const ProfileTemplate = "template"

// ProfileSecrets is no form of a document: it is what no commit may hold.
const ProfileSecrets = "secrets"

// CheckOptions say how a document is checked.
type CheckOptions struct {
	Profile string // empty: guessed from the name
	Variant string // an older form of a handoff document
}

// Check checks a document against a profile, and gives the profile with the findings.
func (s *Session) Check(
	name string, src []byte, o CheckOptions,
) (profile string, bad *formats.Diagnostics, err error) {
	profile = cmp.Or(o.Profile, string(formats.GuessArtifactType(name)))
	bad = &formats.Diagnostics{Sources: map[string][]byte{name: src}}
	switch {
	case profile == ProfileSecrets:
		bad.Of = formats.CodeSecretFound
		bad.List = secretFindings(name, string(src))
	case profile == ProfileTemplate:
		bad.Of = formats.CodeInvalidReturn
		bad.List = builtin.CheckTemplate(name, src)
	case slices.Contains(documents.FileProfiles(), profile):
		bad.List = lint.Check(s.Library, name, src, profile == documents.ProfileSubagent)
	case !slices.Contains(s.Project.Profiles.Names(), profile):
		all := slices.Concat(s.Project.Profiles.Names(), documents.FileProfiles(), []string{
			ProfileSecrets,
			ProfileTemplate,
		})
		if o.Profile == "" {
			return "", bad, formats.Fail(formats.CodeUsage,
				"name one with --profile: "+strings.Join(all, ", "),
				"the path %s does not say which profile the document has", name)
		}
		_, err = formats.OneOf("--profile "+strings.Join(all, "|"), o.Profile, all)
	default:
		if o.Variant != "" && !slices.Contains(documents.Variants(profile), o.Variant) {
			return profile, bad, formats.Fail(formats.CodeUsage,
				"--variant seed reads older documents of discovery and maintenance",
				"profile %s has no variant %q", profile, o.Variant)
		}

		opt := documents.Options{
			Variant:  o.Variant,
			Exists:   s.Project.hasFile,
			Profiles: s.Project.Profiles,
		}
		if _, found := opt.Parse(profile, name, src); found != nil {
			bad.List = found.List
		}
		bad.Of = formats.CodeInvalidReturn
	}
	return profile, bad, err
}

// hasFile tells whether a path leads to a file of the project, or of the folder one is in where
// there is none.
func (p *Project) hasFile(name string) bool {
	name = filepath.FromSlash(name)
	info, err := os.Stat(filepath.Join(p.Dir, name))
	return err == nil && info.Mode().IsRegular() && filepath.IsLocal(name)
}

// secretFindings lists what the scan before a commit would find if all of a file were new.
func secretFindings(file, text string) []formats.Diagnostic {
	found := secrets.File(file, text)
	list := make([]formats.Diagnostic, len(found))
	for i, f := range found {
		list[i] = formats.AboutFile(formats.FindingSecret, file, "looks like a secret: "+f.Class,
			"take it out; if it is none, allow it in .tercet/config.yaml: "+f.Allow())
		list[i].Pos.Line = max(f.Line, 1)
	}
	return list
}

// ReturnOptions say how the output of a subagent is read.
type ReturnOptions struct {
	File   string // its name in findings
	Agent  string // the subagent whose output it is
	Nonce  string // of the delegation
	Strict bool   // nothing is repaired, and every rule is checked
	In     string // the folder in which the artifacts have to be; empty: they are not looked for
}

// ReadReturn reads the output of a subagent by its contract. The result is valid also beside an
// error, which is a *formats.Diagnostics if the output is refused.
func (s *Session) ReadReturn(src []byte, o ReturnOptions) (out AgentOutput, err error) {
	opt := returns.ParseOptions{
		File:   o.File,
		Agent:  o.Agent,
		Nonce:  o.Nonce,
		Strict: o.Strict,
	}
	if o.In != "" {
		root, err := os.OpenRoot(o.In)
		if err != nil {
			return out, formats.Broken(formats.CodeUsage, o.In, err)
		}
		defer root.Close() //nolint:errcheck // only read through
		opt.Faulty = subagents.ArtifactCheck(root)
	}

	foreign := "" // a subagent of another project, whose contract is not known
	out, err = returns.ReadResult(src, opt, func(agent string) formats.AgentInfo {
		info, known := s.Set.Agent(agent)
		if agent != "" && !known {
			foreign = agent
		}
		return info
	})
	if foreign != "" {
		why := fmt.Sprintf("there is no subagent %q here, so no contract was checked", foreign)
		out.Warnings = append(out.Warnings, why)
		if near := nearest.Help(foreign, s.Set.Names()); near != "" {
			why += "; " + near
		}
		s.Project.note("warning: %s", why)
	}
	return out, err
}

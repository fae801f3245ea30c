package documents_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"tercet/formats/documents"
)

// own reads one profile of a project.
func own(name, text string) *documents.ProjectProfiles {
	return documents.ReadProjectProfiles(fstest.MapFS{name + ".yaml": {Data: []byte(text)}})
}

// TestOwnProfilesAreRefused: a file that cannot be used is named with what is wrong, and no
// document passes by it.
func TestOwnProfilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"plan", "", "expected sections or fields, got neither"},
		{"plan", "sections: [", ".tercet/profiles/plan.yaml: "},
		{"plan", "sections: 3", "for sections, got a number"},
		{"plan", "fields: [A]\nother: 1", `unknown key "other"`},
		{"plan", "fields: [A]\nreader: payload", "the key reader is not for"},
		{"plan", "fields: [A]\nphases: Steps", `phases names the section "Steps"`},
		{"plan", "fields: [A]\nstrict: true", "expected phases: SECTION"},
		{"plan", "sections: [{name: A}, {name: a}]", "expected a name of its own for section 2"},
		{
			"plan",
			"sections: [{name: A}]\nphases: A\nphase: {words: ['(']}",
			"expected words of letters",
		},
		{"plan", "sections: [{name: A}]\nphases: A\nphase: {marks: {open: x}}", "phase status"},
		{
			"plan", "sections: [{name: A}]\nphases: A\nphase: {marks: {completed: x, blocked: X}}",
			"as the mark of completed",
		},
		{"plan", "sections: [{name: A}]\nphases: A\nphase: {parts: [all]}", "part of a phase"},
		{"Plan", "fields: [A]", "expected a name of small letters"},
		{"plan", "fields: [" + strings.Repeat("A, ", 30000) + "B]", "expected at most"},
	} {
		profiles := own(tt.name, tt.text)
		_, found := documents.Options{Profiles: profiles}.Parse(tt.name, "x.md", []byte("# T\n"))
		if !found.HasErrors() || !strings.Contains(found.Error(), tt.want) {
			t.Errorf("%s %.40q: got %v, want %q", tt.name, tt.text, found, tt.want)
		}
	}
}

// TestOwnProfilesBesideShipped: a profile of the project goes before the shipped one of its name,
// and no other changes.
func TestOwnProfilesBesideShipped(t *testing.T) {
	t.Parallel()

	profiles := own("note", "fields: [By]")
	opt := documents.Options{Profiles: profiles}

	if _, found := opt.Parse("note", "n.md", []byte("# N\n\n- **By**: us\n")); found != nil {
		t.Errorf("a note: %v", found)
	}

	if _, found := opt.Parse("plan", "n.md", []byte("# N\n")); !found.HasErrors() {
		t.Error("a plan passed without anything of a plan")
	}

	_, found := (documents.Options{}).Parse("note", "n.md", []byte("# N\n"))
	if !found.HasErrors() {
		t.Error("a profile of the project is known without the project")
	}

	if profiles.Form("plan") != "" || !strings.Contains(profiles.Form("note"), "By") {
		t.Errorf("forms %q and %q", profiles.Form("plan"), profiles.Form("note"))
	}

	var none *documents.ProjectProfiles
	if none.Form("plan") != "" || none.Sums() != nil ||
		len(none.Names()) != len(documents.Profiles()) {
		t.Error("no profiles are not the shipped ones")
	}
}

// FuzzOwnProfile: no profile and no plan of it make the reader fail, and a phase that is set has
// the status to which it was set.
func FuzzOwnProfile(f *testing.F) {
	const profile = "sections: [{name: S}]\nphases: S\nstrict: true\n" +
		"phase: {words: [Schritt], marks: {not_started: offen, completed: [fertig, erledigt]}}\n"
	const plan = "# P\n\n## S\n\n### Schritt 1: a [offen]\n\n- [ ] b\n\n### Phase 2: c (erledigt)\n"

	f.Add(profile, plan)
	f.Add("fields: [A]\nspelled: {A: [B, C]}", "# P\n\nB: x\n")
	f.Add("sections: [{name: S, also: T, optional: true}]", "# P\n\n## T\n")

	f.Add("phase: {words: '', marks: {completed: '[x]'}}", "### 1 [x]")
	f.Fuzz(func(t *testing.T, profile, plan string) {
		profiles := own(documents.ProfilePlan, profile)

		doc, _ := documents.Options{Profiles: profiles}.Parse(
			documents.ProfilePlan, "p.md", []byte(plan))

		for _, p := range doc.Phases {
			out, err := profiles.SetPhase([]byte(plan), p.Number, documents.PhaseCompleted)
			if err != nil {
				continue
			}

			after, _ := documents.Options{Profiles: profiles}.Parse(
				documents.ProfilePlan, "p.md", out)
			if now := after.Phase(p.Number); now == nil || now.Status != documents.PhaseCompleted {
				t.Fatalf("phase %d is not completed in %q", p.Number, out)
			}
		}
	})
}

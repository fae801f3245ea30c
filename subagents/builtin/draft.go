package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tercet/formats"
	"tercet/formats/documents"
	"tercet/internal/atomicfile"
	"tercet/internal/lazy"
	"tercet/internal/md"
	"tercet/internal/nearest"
	"tercet/internal/phrase"
)

// draft fills the template of a deliverable from the documents of the project. A placeholder
// without a source says so in the language of the document. A deliverable that is there and was
// made of another major version of the template is blocked, until `template` says what becomes of
// it.
func (d DocumentWriter) draft(
	ctx context.Context,
	r formats.Request,
	in input,
) (formats.Return, error) {
	in.allowOnly(
		"document", "type", "lang", "slug", "output_path", "template", "documents", "args",
		"results", "tier",
	)

	kind := in.needText("type", "the type of a deliverable")
	lang := in.needText("lang", "ja or en")
	slug := in.needText("slug", "a slug")
	to := in.needText("output_path", "the path of the deliverable")
	choice := in.text("template")
	if !fs.ValidPath(to) {
		in.refuse("output_path", "a path inside the project")
	}

	h := &handoff{
		in:        in,
		args:      map[string]any{"slug": slug},
		documents: in.object("documents"),
		language:  lang,
	}
	// a part of a project has documents of its own, and none of those of the whole
	h.listedOnly = in.has("documents")
	if err := in.err(r.Agent); err != nil {
		return formats.Failed(err), nil
	}

	ret, err := func() (_ formats.Return, err error) {
		h.tree, err = os.OpenRoot(r.Dir)
		if err != nil {
			return formats.Return{}, err
		}
		defer func() { err = errors.Join(err, h.tree.Close()) }()
		name, text, err := d.findTemplate(kind, lang)
		if err != nil {
			return formats.Return{}, err
		}
		return d.fillTemplate(h, template{
			name:       name,
			text:       text,
			kind:       kind,
			lang:       lang,
			outputPath: to,
		}, choice)
	}()
	return asReturn(ctx, ret, err)
}

// template is one that is filled; to is where the deliverable lies.
type template struct{ name, text, kind, lang, outputPath string }

// findTemplate finds the template of a type: the project's own, that of the pack in the workspace,
// then the pack's.
func (d DocumentWriter) findTemplate(kind, lang string) (name, text string, err error) {
	names := []string{kind + "." + lang + ".md", kind + ".md"}
	for _, at := range []struct {
		files  fs.FS
		folder string
		shown  string
	}{
		{d.Templates, ".", formats.Workspace + "/templates"},
		{d.Templates, "flows", formats.Workspace + "/templates/flows"},
		{d.Shipped, ".", "the pack flows"},
	} {
		for _, name := range names {
			if at.files == nil || !fs.ValidPath(name) || path.Base(name) != name {
				continue
			}

			data, err := fs.ReadFile(at.files, path.Join(at.folder, name))
			if err == nil {
				return path.Join(at.shown, name), string(data), nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", "", err
			}
		}
	}

	return "", "", formats.Fail(formats.CodeNotFound,
		"write "+formats.Workspace+"/templates/"+names[0], "no template of %s in %s", kind, lang)
}

// sources are the placeholders that a document fills: its name, and words of the section's name.
// Those without a document are known of the deliverable itself.
var sources = map[string][]string{
	"project.name":            nil,
	"project.slug":            nil,
	"doc.lang":                nil,
	"doc.generated_at":        nil,
	"doc.type":                nil,
	"doc.template_version":    nil,
	"spec.summary":            {"SPEC.md", "overview", "summary", "概要"},
	"spec.use_cases":          {"SPEC.md", "use case", "user stor", "ユースケース", "ユーザーストーリー"},
	"architecture.overview":   {"ARCHITECTURE.md", "overview", "概要"},
	"architecture.modules":    {"ARCHITECTURE.md", "module", "component", "モジュール"},
	"architecture.tech_stack": {"ARCHITECTURE.md", "tech stack", "technology", "stack", "技術スタック"},
	"ops.runbook":             {"OPS_PLAN.md", "runbook", "procedure", "運用手順"},
	"security.summary":        {"SECURITY_AUDIT.md", "summary", "finding", "概要"},
	"tests.summary":           {"TEST_PLAN.md", "policy", "summary", "方針", "概要"},
	"ui_spec.screens":         {"UI_SPEC.md", "screen", "画面"},
}

var (
	placeholder   = lazy.Regexp(`\{\{([^{}]*)\}\}`)
	versionMarker = lazy.Regexp(`<!--[ \t]*template_version:[ \t]*(\d+)\.(\d+)[^\n]*-->`)
)

// fillTemplate returns the text of a deliverable: the template with its placeholders replaced.
func (d DocumentWriter) fillTemplate(
	h *handoff,
	t template,
	choice string,
) (formats.Return, error) {
	doc, _ := md.ParseUpTo([]byte(t.text), documents.MaxSize)
	if list := unknownPlaceholders(doc, t.name); list != nil {
		return formats.Return{}, &formats.Diagnostics{List: list, Of: formats.CodeValidationFailed}
	}

	version := "1.0"
	if n := doc.Front.Get("template_version"); n != nil {
		version = n.Source()
	}
	ret := formats.Return{
		Status: formats.StatusCompleted,
		Fields: map[string]any{
			"TEMPLATE_USED": t.name, "TEMPLATE_VERSION": version,
		},
	}
	err := h.checkExisting(t, version, choice, &ret)
	if err != nil || ret.Status != formats.StatusCompleted {
		return ret, err
	}

	spec, _ := h.readSections("SPEC.md")
	design, _ := h.readSections("ARCHITECTURE.md")
	own := map[string]string{
		"project.name":         h.productName(spec, design),
		"project.slug":         oneLine(h.args["slug"]),
		"doc.lang":             t.lang,
		"doc.type":             t.kind,
		"doc.template_version": version,
		"doc.generated_at":     d.Clock.Now().UTC().Format("2006-01-02T15:04:05Z"),
	}

	var skipped []string
	ret.Text = strings.TrimLeft(
		placeholder().ReplaceAllStringFunc(doc.Prose(), func(found string) string {
			name := strings.TrimSpace(found[2 : len(found)-2])
			from := sources[name]
			if from == nil {
				return own[name]
			}
			_, sections := h.readSections(from[0])
			if text := findSection(sections, from[1:]...); text != "" {
				return text
			}
			if chapter := chapterOf(doc, found); !slices.Contains(skipped, chapter) {
				skipped = append(skipped, chapter)
			}
			return phrase.In(t.lang, "Not available: {source}", "{source}", from[0])
		}),
		"\n",
	)
	ret.Fields["SKIPPED_SECTIONS"] = formats.Values(skipped)
	ret.Summary = fmt.Sprintf("%s filled, %s without a source",
		t.name, formats.Count(len(skipped), "chapter"))
	return ret, nil
}

// CheckTemplate gives the unknown placeholders in the template of a deliverable.
func CheckTemplate(file string, text []byte) []formats.Diagnostic {
	doc, _ := md.ParseUpTo(text, documents.MaxSize)
	return unknownPlaceholders(doc, file)
}

func unknownPlaceholders(doc *md.Document, file string) (list []formats.Diagnostic) {
	for n := 1; n <= doc.LineCount(); n++ {
		for _, at := range placeholder().FindAllStringSubmatchIndex(doc.Line(n), -1) {
			name := strings.TrimSpace(doc.Line(n)[at[2]:at[3]])
			if _, known := sources[name]; known {
				continue
			}
			all := slices.Sorted(maps.Keys(sources))
			help := cmp.Or(nearest.Help(name, all), "the placeholders are "+strings.Join(all, ", "))
			found := formats.Found(formats.FindingTemplate, formats.Pos{Line: n, Col: at[0] + 1},
				help, "unknown placeholder '%s'", name)
			found.File = file
			list = append(list, found)
		}
	}
	return list
}

// chapterOf is the chapter in which a placeholder stands.
func chapterOf(doc *md.Document, found string) string {
	for _, s := range doc.Sections(2) {
		for n := s.Line(); n <= s.EndLine; n++ {
			if strings.Contains(doc.Line(n), found) {
				return s.Title()
			}
		}
	}
	return found
}

// checkExisting looks at a deliverable that is there. One of another major version is blocked, or
// kept beside the new one.
func (h *handoff) checkExisting(t template, version, choice string, ret *formats.Return) error {
	name := filepath.FromSlash(t.outputPath)
	text, err := h.tree.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}

	was := versionMarker().FindSubmatch(text)
	major, minor, _ := strings.Cut(version, ".")
	var bumped string
	if was != nil {
		bumped = fmt.Sprintf("%s was made of template %s.%s, now it is %s",
			t.outputPath, was[1], was[2], version)
	}
	switch {
	case was == nil || string(was[1]) == major && string(was[2]) == minor:
	case string(was[1]) == major:
		ret.Warnings = append(ret.Warnings, bumped)
	case choice == "Back up":
		to := fmt.Sprintf("%s.v%s.%s.bak", t.outputPath, was[1], was[2])
		return atomicfile.WriteIn(h.tree, to, text, atomicfile.Options{Alone: true})
	case choice != "Overwrite":
		ret.Status = formats.StatusBlocked
		ret.BlockedReason = "template_major_bump"
		ret.Summary = bumped
	}

	return nil
}

package documents

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/formats/record"
	"tercet/internal/lazy"
)

// FieldPayload is the result field with a handoff payload.
const FieldPayload = "HANDOFF_PAYLOAD"

// payloadKeys are the rules of the keys, in the order in which they are written.
func payloadKeys() []keyRule {
	p, err := profileOf(profilePayload)
	if err != nil {
		return nil
	}
	return p.Keys
}

// parsePayload reads a payload by the tolerant grammar of records, never as YAML: titles hold ": ".
// The lines before it are added to its places. An invalid value is null.
func parsePayload(f *formats.Findings, text string, before int) (values map[string]any, read bool) {
	keys := payloadKeys()
	r := record.Read(record.Lines(text), record.Bounds{
		Fence: "-->", // it ends with the text, not at a blank line
		Ends:  func(string) bool { return false },
	})
	values = map[string]any{}
	place := func(p formats.Pos) formats.Pos {
		return formats.Pos{Line: p.Line + before, Col: p.Col}
	}
	at := map[string]formats.Pos{}
	for i := range r.Fields {
		e := &r.Fields[i]
		n := slices.IndexFunc(keys, func(k keyRule) bool { return k.Name == e.Key })
		_, twice := at[e.Key]
		switch {
		case n < 0:
		case twice:
			f.Add(codeTwice, place(e.Pos), "keep one", "key '%s' stands twice", e.Key)
		default:
			at[e.Key] = e.Pos
			values[e.Key] = keys[n].payloadValue(f, e, place(e.Pos))
		}
	}

	if len(at) == 0 {
		help := "write the keys " + strings.Join(keyNames(keys), ", ")
		f.Add(
			codeOtherKind,
			formats.Pos{Line: before + 1, Col: 1},
			help,
			"expected a handoff payload, got another schema",
		)
		return values, false
	}

	for _, k := range keys {
		if _, ok := at[k.Name]; ok {
			continue
		}
		if k.Default != "" {
			values[k.Name] = k.Default
			continue
		}
		f.Add(codeNoField, formats.Pos{Line: before + 1, Col: 1},
			"add the line '"+k.Name+": "+k.example()+"'",
			"expected a line '%s: ...', got none", k.Name)
	}

	return values, true
}

func keyNames(keys []keyRule) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Name
	}
	return out
}

// payloadValue returns the value of a key of a payload.
func (k keyRule) payloadValue(f *formats.Findings, e *record.Field, at formats.Pos) any {
	text := unquote(e.String())
	switch {
	case k.Null && slices.Contains([]string{"", "null", "none", "~", "-"}, strings.ToLower(text)):
		return nil
	case k.Type == typePaths:
		paths := map[string]any{}
		items := e.Items
		if e.Kind == record.FieldText {
			items = strings.Split(strings.Trim(text, "[]{}"), ",")
		}
		for _, one := range items {
			if name, file, ok := record.SplitPair(strings.TrimSpace(one)); ok {
				paths[name] = nil
				if file != "missing" && file != "" {
					paths[name] = file
				}
			}
		}
		return paths
	case text == "" || isPlaceholder(text, false):
		f.Add(codeEmptyField, at, "write "+k.Name+": "+k.example(), "key '%s' says nothing", k.Name)
		return nil
	case k.isText():
		return e.String()
	}

	v, want, help := k.parse(entry{value: text})
	if want != "" {
		f.Add(codeValue, at, help, "expected %s for %s; got '%s'", want, k.Name,
			formats.Clip(text, maxQuotedValue))
	}
	return v
}

// PayloadFaults lists what is wrong with a payload, one sentence each.
func PayloadFaults(value any) (out []string) {
	f := &formats.Findings{}
	switch v := value.(type) {
	case string:
		parsePayload(f, v, 0)
	case map[string]any:
		var lines strings.Builder
		for _, name := range keyNames(payloadKeys()) {
			if text, ok := v[name]; ok {
				if text == nil {
					text = "null"
				}
				if list, ok := text.([]any); ok {
					items := make([]string, len(list))
					for i, one := range list {
						items[i] = fmt.Sprint(one)
					}
					text = strings.Join(items, ", ")
				}
				fmt.Fprintf(&lines, "%s: %s\n",
					name, strings.ReplaceAll(fmt.Sprint(text), "\n", " "))
			}
		}
		parsePayload(f, lines.String(), 0)
	default:
		return []string{"expected a handoff payload, got " + formats.TypeName(value)}
	}

	for _, d := range f.List {
		out = append(out, FieldPayload+": "+d.Message)
	}
	return out
}

var (
	handoffMark = lazy.Regexp(`^[ \t]*<!--[ \t]*analyst-handoff\b`)
	issueLine   = lazy.Regexp(`^[ \t]*>[ \t]*(?:\*\*)?GitHub Issue(?:\*\*)?[:：]`)
	issueMark   = lazy.Regexp(
		`^[ \t]*>[ \t]*(?:\*\*)?GitHub Issue(?:\*\*)?[:：](?:\*\*)?[ \t]*\[#(\d+)\]\(([^()\s]*)\)`)
)

// WithIssue is a planning document that names an issue: in its line GitHub Issue, and in its
// payload.
func WithIssue(src string, number int, url string) string {
	lines := strings.Split(src, "\n")
	line := -1
	title := 0
	inside := false
	for i, text := range lines {
		key, _, ok := strings.Cut(text, ":")
		name := strings.TrimSpace(key)
		switch {
		case handoffMark().MatchString(text):
			inside = true
		case strings.Contains(text, "-->"):
			inside = false
		case inside && ok && name == "issue_url":
			lines[i] = key + ": " + url
		case inside && ok && name == "issue_number":
			lines[i] = fmt.Sprintf("%s: %d", key, number)
		case line < 0 && issueLine().MatchString(text):
			line = i
		case title == 0 && strings.HasPrefix(text, "# "):
			title = i + 1
		}
	}

	link := fmt.Sprintf("> GitHub Issue: [#%d](%s)", number, url)
	if line < 0 {
		return strings.Join(slices.Insert(lines, title, "", link), "\n")
	}
	lines[line] = link
	return strings.Join(lines, "\n")
}

// readIssue reads what a planning document says of an issue: a payload (case A), a line that
// names the issue (B), or neither (C).
func (r *handoffReader) readIssue() {
	v := r.out.Values
	v["case"] = "C"
	v["payload"] = nil
	v["payload_text"] = nil
	v["issue_number"] = nil
	v["issue_url"] = nil
	for n, text := range r.doc.ProseLines() {
		if issue := issueMark().FindStringSubmatch(text); issue != nil && v["issue_url"] == nil {
			v["case"] = "B"
			v["issue_url"] = issue[2]
			if number, err := strconv.Atoi(issue[1]); err == nil {
				v["issue_number"] = number
			}
		}
		if !handoffMark().MatchString(text) {
			continue
		}
		var body []string
		for at := n + 1; at <= r.doc.LineCount() && !strings.Contains(r.doc.Line(at), "-->"); at++ {
			body = append(body, r.doc.Line(at))
		}
		written := strings.Join(body, "\n")
		if payload, ok := parsePayload(r.Findings, written, n); ok {
			v["case"] = "A"
			v["payload"] = payload
			v["payload_text"] = strings.TrimSpace(written)
		}
		return
	}

	if v["case"] == "C" {
		r.Add(codeNoField, r.title, "add the line '> GitHub Issue: [#1](address)', or start afresh",
			"expected an analyst-handoff comment or a line 'GitHub Issue', got neither")
	}
}

package formats

import (
	"math"
	"strconv"
	"strings"
)

// handoff reads `key: value` lines, also as bullets, outside of code fences. Keys become lower case with '_'; true,
// false and numbers keep their type, so that `"0" > 0` is not true by accident.
func (d *Document) handoff(f *findings, p profile, src []byte) {
	d.Values = map[string]any{}
	fence, section := "", ""
	for line := range strings.Lines(string(src)) {
		text := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(text, fence) {
				fence = ""
			}
			continue
		}
		switch {
		case strings.HasPrefix(text, "```"), strings.HasPrefix(text, "~~~"):
			fence = text[:3]
		case strings.HasPrefix(text, "# ") && d.Title == "":
			d.Title = strings.TrimSpace(text[2:])
		case strings.HasPrefix(text, "## "):
			section = strings.TrimSpace(text[3:])
		case section != "":
			d.Sections[section] += line
		}
		if key, value, ok := pair(text); ok {
			if _, twice := d.Values[key]; !twice {
				d.Values[key], d.Fields[key] = typed(value), value
			}
		}
	}
	for name, text := range d.Sections {
		d.Sections[name] = strings.TrimSpace(text)
	}
	if p.file != "" && len(d.Values) == 0 {
		f.add(codeEmptySection, top, "write one 'key: value' a line",
			"expected fields such as 'product_type: service', got none")
	}
}

// pair reads "key: value", "- key: value" or "- **Key**: value".
func pair(text string) (key, value string, ok bool) {
	text = strings.TrimLeft(text, "-* \t")
	key, value, ok = strings.Cut(text, ":")
	key = strings.ReplaceAll(strings.ToLower(strings.Trim(key, "*` \t")), " ", "_")
	value = strings.Trim(strings.TrimSpace(strings.TrimPrefix(value, "**")), "`\"")
	if !ok || key == "" || value == "" || strings.HasPrefix(value, "//") {
		return "", "", false
	}
	return key, value, !strings.ContainsFunc(key, func(c rune) bool {
		return c != '_' && c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
}

// typed gives a text the type that it is written as.
func typed(text string) any {
	switch strings.ToLower(text) {
	case "true", "yes":
		return true
	case "false", "no":
		return false
	case "null", "none", "-":
		return nil
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n
	}
	if list, ok := bracketed(text); ok {
		return list
	}
	return text
}

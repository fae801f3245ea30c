package argspec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tercet/formats"
	"tercet/internal/lazy"
)

// value reads one word, or the text, as the argument's type says. A non-empty want tells what
// should have stood there.
func (s *Spec) value(text string) (v any, want string) {
	switch s.Type {
	case Text:
		if strings.TrimSpace(text) == "" {
			return nil, "text"
		}
		return s.matchPattern(text)
	case Subagent:
		return text, wantUnless(subagentForm().MatchString(text), "name of a subagent")
	case String:
		if name, _, pair := strings.Cut(text, "="); s.Of != "" && (name == "" || !pair) {
			return nil, "NAME=VALUE"
		}
		if len(s.Values) > 0 {
			return s.choice(text)
		}
		return s.matchPattern(text)
	case Enum:
		return s.choice(text)
	case Path:
		return s.path(text)
	case Integer:
		n, ok := parseInt(text)
		if !ok {
			return nil, s.bounds("integer", false)
		}
		return n, s.checkBounds(float64(n), "integer")
	case Number:
		n, ok := parseNumber(text)
		if !ok {
			return nil, s.bounds("number", false)
		}
		return n, s.checkBounds(n, "number")
	case Boolean:
		return text == "true", wantUnless(text == "true" || text == "false", "true or false")
	case Duration:
		d, err := ParseDuration(text)
		if err != nil {
			return nil, "duration such as 30m or 2h"
		}
		return int(d / time.Second), s.checkBounds(d.Seconds(), "duration in seconds")
	case Task:
		n, ok := parseInt(text)
		if !ok {
			if taskList().MatchString(text) {
				return nil, "integer, or a list of at most " + strconv.Itoa(MaxTasks) +
					" tasks such as 3, 5-7,"
			}
			return nil, "integer"
		}
		return n, wantUnless(n >= 1, "integer of at least 1")
	case Tasks:
		return s.tasks(text)
	case JSON:
		return parseJSON(text)
	}

	return nil, "argument of a known type"
}

// subagentForm is the form of a subagent's name, with the language or the folder that may stand
// with it.
var subagentForm = lazy.Regexp(`^[a-z][a-z0-9-]*([:@][a-z][a-z0-9-]*)*$`)

var taskList = lazy.Regexp(`^[0-9]+[-,]`)

func wantUnless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func (s *Spec) matchPattern(text string) (any, string) {
	if s.Pattern != nil {
		if at := s.Pattern.FindStringIndex(text); at == nil || at[0] > 0 || at[1] < len(text) {
			return nil, "text matching " + s.Pattern.String()
		}
	}
	return text, ""
}

func (s *Spec) choice(text string) (any, string) {
	if slices.Contains(s.Values, text) {
		return text, ""
	}
	return nil, "one of " + strings.Join(s.Values, ", ")
}

func (s *Spec) tasks(text string) (any, string) {
	if slices.Contains(s.Values, text) {
		return text, ""
	}
	numbers, err := ParseTasks(text)
	if bad, ok := errors.AsType[*formats.ValueError](err); ok {
		return nil, strings.Join(append([]string{bad.What}, s.Values...), " or ")
	}
	return formats.Values(numbers), ""
}

// path takes a slash-separated path that stays inside the project by its form. Links are the
// opener's matter.
func (s *Spec) path(text string) (any, string) {
	const want = "path inside the project"
	clean := path.Clean(text)
	if text == "" || text[0] == '-' || path.IsAbs(text) || clean == ".." ||
		strings.HasPrefix(clean, "../") ||
		strings.ContainsFunc(text, unicode.IsControl) {
		return nil, want
	}
	if _, want := s.matchPattern(clean); want != "" {
		return nil, want
	}
	return clean, ""
}

// checkBounds tells what was wanted if n is out of the argument's bounds.
func (s *Spec) checkBounds(n float64, noun string) string {
	if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
		return s.bounds(noun, true)
	}
	return ""
}

func (s *Spec) bounds(noun string, told bool) string {
	number := func(f *float64) string {
		return strconv.FormatFloat(*f, 'f', -1, 64)
	}
	switch {
	case !told || s.Min == nil && s.Max == nil:
		return noun
	case s.Max == nil:
		return noun + " of at least " + number(s.Min)
	case s.Min == nil:
		return noun + " of at most " + number(s.Max)
	}
	return noun + " from " + number(s.Min) + " to " + number(s.Max)
}

func parseInt(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && text[0] != '+'
}

func parseNumber(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0) && text[0] != '+' &&
		strings.Trim(text, "0123456789+-.eE") == ""
}

func parseJSON(text string) (any, string) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, "JSON"
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, "one JSON text"
	}
	return v, ""
}

var durationForm = lazy.Regexp(`^([0-9]+h)?([0-9]+m)?([0-9]+s)?$`)

// ParseDuration parses a duration: whole hours, minutes and seconds in this order, each at most
// once, such as 2h, 30m, 1h30m or 90s. The error is a *formats.ValueError.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || !durationForm().MatchString(text) {
		return 0, &formats.ValueError{What: "duration such as 30m or 2h", Got: text}
	}
	return d, nil
}

// MaxTasks bounds the numbers in a list of tasks: as many as one loop may have elements.
const MaxTasks = formats.DefaultElements

// ParseTasks parses task numbers and ascending ranges, such as "3, 5-7". It gives 1 to MaxTasks
// numbers of at least 1, in the order of the text, without repeats. The error is a
// *formats.ValueError.
func ParseTasks(s string) ([]int, error) {
	many := &formats.ValueError{What: fmt.Sprintf("at most %d task numbers", MaxTasks)}
	var out []int
	seen := map[int]bool{}
	for piece := range strings.SplitSeq(s, ",") {
		from, to, ok := parseRange(strings.TrimSpace(piece))
		switch {
		case !ok:
			return nil, &formats.ValueError{What: "task numbers such as 3, 5-7", Got: s}
		case to-from >= MaxTasks:
			many.Got = fmt.Sprintf("%d numbers", to-from+1)
			return nil, many
		}
		for n := from; n <= to; n++ {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
		if len(out) > MaxTasks {
			many.Got = fmt.Sprintf("more than %d numbers", MaxTasks)
			return nil, many
		}
	}

	return out, nil
}

// Ranges writes numbers as a list of tasks: 1-3,5.
func Ranges(list []int) string {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	var out []string
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		out = append(out, strconv.Itoa(list[i]))
		if last > i {
			out[len(out)-1] += "-" + strconv.Itoa(list[last])
		}
		i = last + 1
	}
	return strings.Join(out, ",")
}

// parseRange reads N or N-M with 1 <= N <= M.
func parseRange(s string) (from, to int, ok bool) {
	first, second, dash := strings.Cut(s, "-")
	from, ok = parseInt(strings.TrimSpace(first))
	if !ok || from < 1 {
		return 0, 0, false
	}
	if !dash {
		return from, from, true
	}
	to, ok = parseInt(strings.TrimSpace(second))
	return from, to, ok && to >= from && to < math.MaxInt
}

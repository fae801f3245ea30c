package agentcli

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"tercet/internal/lazy"
)

// limitReached finds the words of any driver, because a program that speaks the Agent Client
// Protocol may work with any of their models. docs/agents.md has each with the version it was found
// in.
var limitReached = sync.OnceValue(func() *regexp.Regexp {
	var words []string
	for _, d := range Drivers() {
		if d.UsageLimit != "" {
			words = append(words, d.UsageLimit)
		}
	}
	return regexp.MustCompile("(?i)" + strings.Join(words, "|"))
})

var (
	// When it ends: how long that takes, or a time of the day, with a date where it is another day,
	// and with its zone.
	limitSpan = lazy.Regexp(
		`(?i)(?:resets?|retry|try again) (?:after|in) (?:(\d{1,3}) ?d(?:ays?)?\s*)?((?:[\d.]+ ` +
			`?(?:hours?|minutes?|seconds?|[hms])\s*)*)`,
	)
	limitClock = lazy.Regexp(
		`(?i)(?:resets?|try again)(?: at)? ((?:[a-z]{3} \d{1,2}[a-z, ]*(?:\d{4},? )?(?:at )?)?` +
			`\d{1,2}(?::\d\d)? ?[ap]m)(?: \(([a-z_/+-]+)\))?`,
	)
	limitUnit   = lazy.Regexp(`(?i)\s*([hms])[a-z]*\s*`)
	limitFiller = lazy.Regexp(`(?i)(\d)(?:st|nd|rd|th)\b|,| at\b| ([ap]m)`)
)

// limit tells that the account's usage limit is reached, and when it ends; a zero time: the program
// does not say.
func (f Fault) limit(now time.Time) (until time.Time, reached bool) {
	if !limitReached().MatchString(f.Message) {
		return time.Time{}, false
	}
	if m := limitSpan().FindStringSubmatch(f.Message); m != nil && m[1]+m[2] != "" {
		days, _ := strconv.Atoi("0" + m[1]) //nolint:errcheck // digits
		rest, err := time.ParseDuration("0s" +
			strings.ToLower(limitUnit().ReplaceAllString(m[2], "$1")))
		if err != nil {
			return time.Time{}, true
		}
		return now.Add(time.Duration(days)*24*time.Hour + rest).UTC(), true
	}

	m := limitClock().FindStringSubmatch(f.Message)
	if m == nil {
		return time.Time{}, true
	}
	if zone, err := time.LoadLocation(m[2]); m[2] != "" && err == nil {
		now = now.In(zone)
	}
	text := strings.ToLower(limitFiller().ReplaceAllString(m[1], "$1$2"))
	year, month, today := now.Date()
	for i, layout := range []string{
		"3pm", "3:04pm", "Jan 2 3pm", "Jan 2 3:04pm", "Jan 2 2006 3pm", "Jan 2 2006 3:04pm",
	} {
		at, err := time.ParseInLocation(layout, text, now.Location())
		dated := i / 2
		switch {
		case err != nil:
			continue
		case dated == 0:
			at = time.Date(year, month, today, at.Hour(), at.Minute(), 0, 0, now.Location())
		case dated == 1:
			at = at.AddDate(year, 0, 0)
		}
		if i < 4 && !at.After(now) { // tomorrow, or next year
			at = at.AddDate(i/2, 0, 1-i/2)
		}
		return at.UTC(), true
	}

	return time.Time{}, true
}

package git

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"tercet/internal/lazy"
)

// MaxIssue bounds an issue's text, in bytes; the rest is cut off.
const MaxIssue = 16 << 10

// Issue is an issue from the remote's host: untrusted text. It has no control characters, no
// characters that hide others, and no HTML comments, which a web page does not show.
type Issue struct {
	URL, Title string
	Text       string // at most MaxIssue bytes
	Labels     []string
	Closed     bool
	CutBytes   int // bytes of the text that were cut off
}

// Issue fetches an issue by gh or glab. A missing issue, or a request of that number, is a
// *NoIssueError.
func (a *HostCLI) Issue(ctx context.Context, number int) (Issue, error) {
	missing := &NoIssueError{Number: number, At: cmp.Or(a.remote.Path, "remote "+a.remote.Name)}
	out, err := a.run(
		ctx,
		strings.Replace(a.tool.viewIssue, "NUMBER", strconv.Itoa(number), 1),
		Request{},
	)
	if failed, ok := errors.AsType[*Error](err); ok && noIssuePattern().MatchString(failed.Stderr) {
		return Issue{}, missing
	}
	if err != nil {
		return Issue{}, err
	}
	issue, ok := parseIssue(out)
	if !ok {
		return Issue{}, badToolOutput(a.tool.name, "an issue", out)
	}
	if strings.Contains(issue.URL, "/pull/") { // gh shows a request as well
		return Issue{}, missing
	}
	return issue, nil
}

// FileIssue opens an issue, unless one of the newest has the mark, and returns its URL. It reads
// the list of issues, which is current, and not a search, which lags: a repeated call after a kill
// must not open a second one.
func (a *HostCLI) FileIssue(ctx context.Context, title, body, mark string) (string, error) {
	if a.tool.createIssue == "" {
		return "", fmt.Errorf("tercet opens issues with gh, not with %s", a.tool.name)
	}
	find := func() (string, error) {
		out, err := a.run(ctx, a.tool.listIssues, Request{})
		var list []struct{ URL, Body string }
		if err == nil && json.Unmarshal(out, &list) != nil {
			err = badToolOutput(a.tool.name, "a list of issues", out)
		}
		for _, issue := range list {
			address, ok := checkURL(issue.URL)
			if ok && strings.Contains(issue.Body, mark) {
				return address, nil
			}
		}
		return "", err
	}
	if address, err := find(); address != "" || err != nil {
		return address, err
	}
	issue := Request{Title: title, Body: body + "\n\n" + mark}
	return a.openOrFind(ctx, a.tool.createIssue, issue, find)
}

var (
	// noIssuePattern matches what gh and glab print if there is no issue.
	noIssuePattern = lazy.Regexp(`(?i)could not resolve to an issue|\b404\b|issue not found`)
	// htmlCommentPattern matches what the host's web page does not show.
	htmlCommentPattern = lazy.Regexp(`(?s)<!--.*?-->`)
)

// parseIssue parses the output of gh or glab.
func parseIssue(out []byte) (issue Issue, ok bool) {
	var in struct {
		Title, Body, Description, URL, State string
		Web                                  string `json:"web_url"`
		Labels                               []any
	}
	if json.Unmarshal(out, &in) != nil || strings.TrimSpace(in.Title) == "" {
		return issue, false
	}

	issue.URL, ok = checkURL(cmp.Or(in.URL, in.Web))
	if !ok {
		return issue, false
	}
	issue.Title = oneLine(in.Title)
	issue.Closed = strings.EqualFold(in.State, "closed")
	for _, label := range in.Labels {
		name, _ := label.(string) //nolint:errcheck // glab lists words, gh objects
		if object, ok := label.(map[string]any); ok {
			name, _ = object["name"].(string) //nolint:errcheck // one without a name is none
		}
		if name = oneLine(name); name != "" {
			issue.Labels = append(issue.Labels, name)
		}
	}

	text := htmlCommentPattern().ReplaceAllString(cmp.Or(in.Body, in.Description), "")
	text = strings.TrimSpace(visibleText(strings.ReplaceAll(text, "\r\n", "\n")))
	// drop a character that was cut in two
	issue.Text = strings.ToValidUTF8(text[:min(MaxIssue, len(text))], "")
	issue.CutBytes = len(text) - len(issue.Text)
	return issue, issue.Title != ""
}

// visibleText removes control characters except line feeds and tabs, and characters that reorder or
// hide text.
func visibleText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine reduces a text to one line of bounded length.
func oneLine(s string) string {
	words := []rune(strings.Join(strings.Fields(visibleText(s)), " "))
	return strings.TrimSpace(string(words[:min(200, len(words))]))
}

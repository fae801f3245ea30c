// Package secrets finds keys, tokens and passwords before a commit.
//
// It promises to look at names and lines only, and to report place and class of a secret, never its
// value. It reads no file and decides nothing about commits. journal.Masker masks what is found
// here, and has wider rules besides, because masking too much is cheaper than refusing a commit.
// Everything here is safe for concurrent use.
package secrets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"tercet/internal/lazy"
)

// Finding is a secret in a file, without its value.
type Finding struct {
	File  string
	Line  int    // from 1; 0: the file's name matches
	Class string // kind of secret, such as "cloud key"
	Sum   string // SHA-256 of the line in hex; empty for a finding by name
}

// String is the finding as a message.
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Class
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Class)
}

// Allow is the config.yaml entry that accepts the finding.
func (f Finding) Allow() string {
	if f.Sum == "" {
		return fmt.Sprintf("secrets: {allow: [{file: %q}]}", f.File)
	}
	return fmt.Sprintf("secrets: {allow: [{file: %q, sha256: %s}]}", f.File, f.Sum)
}

// Allowed is a finding that the user accepted: a line by its sum, or a file by its name if Sum is
// empty.
type Allowed struct{ File, Sum string }

// String is the finding in a listing of the configuration.
func (a Allowed) String() string {
	return strings.TrimSpace(a.File + " " + a.Sum)
}

// Allows reports whether the finding was accepted. An accepted name accepts no lines.
func (a Allowed) Allows(f Finding) bool {
	return a.File == f.File && strings.EqualFold(a.Sum, f.Sum)
}

// rule finds one class in a line. A line that holds none of the words, in lower case, is not
// searched.
type rule struct {
	class string
	words []string
	find  func() *regexp.Regexp // its groups are the value
	holds func(m []string) bool // what the expression cannot say of its groups; nil: nothing
}

// mayMatch tells whether the rule has to search a text, given in lower case.
func (r rule) mayMatch(low string) bool {
	for _, word := range r.words {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// tokenStart is the start of a line or a character that no token holds: "task-..." has no "sk-...".
const tokenStart = `(?:^|[^A-Za-z0-9_-])`

var rules = []rule{
	{
		"cloud key",
		[]string{"akia", "asia"},
		lazy.Regexp(tokenStart + `((?:AKIA|ASIA)[0-9A-Z]{16})`),
		nil,
	},
	{"cloud key", []string{"aiza"}, lazy.Regexp(tokenStart + `(AIza[0-9A-Za-z_-]{35})`), nil},
	{
		"hosting token",
		[]string{"gh", "glpat-", "npm_"},
		lazy.Regexp(tokenStart + `(gh[pousr]_[A-Za-z0-9]{36,}` +
			`|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{36})`),
		nil,
	},
	{
		"model key",
		[]string{"sk-"},
		lazy.Regexp(tokenStart + `sk-(?:proj-|svcacct-|ant-)?([A-Za-z0-9_-]{20,})`),
		hasDigit,
	},
	{
		"chat token",
		[]string{"xox"},
		lazy.Regexp(tokenStart + `(xox[abprs]-[A-Za-z0-9-]{10,})`),
		nil,
	},
	{
		"payment key",
		[]string{"k_live_"},
		lazy.Regexp(tokenStart + `([sr]k_live_[A-Za-z0-9]{16,})`),
		nil,
	},
	{
		"private key",
		[]string{"private key"},
		lazy.Regexp(`(-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----)`),
		nil,
	},
	{
		"password or token",
		[]string{"key", "token", "secret", "passw"},
		lazy.Regexp(
			`(?i)(?:api_?key|token|secret|passw(?:or)?d)\\*["']?\s*[:=]\s*` +
				`(?:\\*"([^"\s]{15,}[^"\s\\])\\*"|\\*'([^'\s]{15,}[^'\s\\])\\*'|([^\s"']{16,}))`),
		looksSecret,
	},
	{"token", []string{"eyj"}, lazy.Regexp(`(?:^|[^\w-])(eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)`), nil},
	{
		"password in a URL",
		[]string{"://"},
		lazy.Regexp(`[a-z]+://[^:/\s]+:([^@/\s]{8,})@`),
		isNoPlaceholder,
	},
}

// Patterns of values that are no secret: an example, a path, a reference in code. logins has the
// files that are secrets only if they hold a login.
var (
	exampleValue = lazy.Regexp(`(?i)\$\{|\{\{|<[^>]*>|example|changeme|\[masked\]`)
	pathValue    = lazy.Regexp(
		`^(?:[A-Za-z]:\\|~?/|\.{1,2}/)[\w./\\-]*$|^[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,4}$`,
	)
	codeReference = lazy.Regexp(`^[$@&*!?]?[A-Za-z_-]+(?:(?:\.|->|::)[A-Za-z_-]+)*[,;)\]}]*$`)
	logins        = map[string]func() *regexp.Regexp{
		".npmrc": lazy.Regexp(`_(?:authToken|auth|password)\s*=\s*(\S+)`),
		".netrc": lazy.Regexp(`\bpassword\s+(\S+)`),
	}
)

func isPlaceholder(value string) bool {
	return exampleValue().MatchString(value) || strings.HasPrefix(value, "$")
}

func hasDigit(m []string) bool {
	return strings.ContainsAny(m[1], "0123456789")
}

func isNoPlaceholder(m []string) bool {
	return !isPlaceholder(m[1])
}

// minEntropy is the entropy, in bits a character, from which a value looks drawn at random.
const minEntropy = 3.5

// looksSecret tells whether a name was given a value that looks like a secret. The value is as long
// and as mixed as one, and no placeholder, call, path or reference.
func looksSecret(m []string) bool {
	bare := m[3] != ""
	value := m[1] + m[2] + m[3]
	switch {
	case isPlaceholder(value), pathValue().MatchString(value):
		return false
	case bare && (strings.ContainsAny(value, "([") || codeReference().MatchString(value)):
		return false
	}
	return entropy(value) >= minEntropy
}

// entropy is that of the characters of s, in bits a character (C. E. Shannon, 1948).
func entropy(s string) float64 {
	count := map[rune]int{}
	n := 0
	for _, r := range s {
		count[r]++
		n++
	}

	bits := 0.0
	for _, c := range count {
		p := float64(c) / float64(n)
		bits -= p * math.Log2(p)
	}
	return bits
}

// Line gives the findings in a line of a file, at most one per class.
func Line(file string, number int, text string) []Finding {
	low := strings.ToLower(text)
	var found []Finding
	add := func(class string) {
		sum := sha256.Sum256([]byte(text))
		found = append(found, Finding{
			File:  file,
			Line:  number,
			Class: class,
			Sum:   hex.EncodeToString(sum[:]),
		})
	}

	for _, r := range rules {
		holds := func(m []string) bool { return r.holds == nil || r.holds(m) }
		if r.mayMatch(low) && slices.ContainsFunc(r.find().FindAllStringSubmatch(text, -1), holds) {
			add(r.class)
		}
	}
	if login, ok := logins[strings.ToLower(path.Base(file))]; ok {
		if m := login().FindStringSubmatch(text); m != nil && !isPlaceholder(m[1]) {
			add("login")
		}
	}

	return found
}

// Mask replaces the values of all findings of a text by a word. It looks at each line alone, as
// Line does.
func Mask(text, word string) string {
	low := strings.ToLower(text)
	for _, r := range rules {
		switch {
		case !r.mayMatch(low):
		case strings.Contains(strings.TrimSuffix(text, "\n"), "\n"):
			lines := strings.SplitAfter(text, "\n")
			for i, line := range lines {
				lines[i] = Mask(line, word)
			}
			return strings.Join(lines, "")
		default:
			text = r.find().ReplaceAllStringFunc(text, func(found string) string {
				if m := r.find().FindStringSubmatch(found); r.holds == nil || r.holds(m) {
					return strings.Replace(found, strings.Join(m[1:], ""), word, 1)
				}
				return found
			})
		}
	}
	return text
}

// files are patterns for the names of files that hold secrets.
var files = []string{
	".env", ".env.*", "*.pem", "*.key", "*.p12", "credentials", "credentials.json",
	"credentials.yaml", "credentials.yml", "credentials.toml", "credentials.ini", "credentials.csv",
	"credentials.xml", "*.secret", "id_rsa", "id_ed25519", "id_ecdsa",
}

// Files with these endings, or below these folders, are examples by name; their lines are scanned
// all the same.
var (
	exampleEndings = []string{".example", ".template", ".sample", ".dist"}
	exampleFolders = []string{"tests", "fixtures", "examples", "testdata"}
)

// File scans the name of a file and every line of its text.
func File(file, text string) []Finding {
	var found []Finding
	if f, ok := Name(file); ok {
		found = append(found, f)
	}
	for i, line := range strings.Split(text, "\n") {
		found = append(found, Line(file, i+1, line)...)
	}
	return found
}

// Guarded reports whether a file must never be part of a result: by its name, or, for a file of
// logins, because it contains one. read gives the text of such a file.
func Guarded(file string, read func() string) (Finding, bool) {
	if f, ok := Name(file); ok {
		return f, true
	}
	if _, may := logins[strings.ToLower(path.Base(file))]; may && !example(file) {
		if found := File(file, read()); len(found) > 0 {
			return found[0], true
		}
	}
	return Finding{}, false
}

// example tells whether a file is an example by its name or its folder.
func example(file string) bool {
	dir, base := path.Split(strings.ToLower(file))
	ends := func(end string) bool { return strings.HasSuffix(base, end) }
	lies := func(folder string) bool {
		return slices.Contains(exampleFolders, folder)
	}
	return slices.ContainsFunc(exampleEndings, ends) ||
		slices.ContainsFunc(strings.Split(dir, "/"), lies)
}

// Name reports whether a file holds secrets by its name, which has slashes.
func Name(file string) (Finding, bool) {
	if example(file) {
		return Finding{}, false
	}
	base := path.Base(strings.ToLower(file))
	is := func(pattern string) bool {
		ok, err := path.Match(pattern, base)
		return ok && err == nil
	}
	return Finding{File: file, Class: "file of secrets"}, slices.ContainsFunc(files, is)
}

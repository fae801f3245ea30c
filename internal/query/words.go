package query

import (
	"slices"
	"strings"
)

// PositionalFlag is the flag for the words after --args and --jsonargs.
const PositionalFlag = "args"

// Words rewrites jq's multi-word flags: --arg NAME VALUE becomes --arg NAME=VALUE, and each word
// after --args or --jsonargs becomes a flag of its own.
func Words(args []string) []string {
	verb := slices.Index(args, "query")
	if verb < 0 ||
		slices.ContainsFunc(args[:verb], func(w string) bool {
			return strings.HasPrefix(w, "/")
		}) {
		return args
	}

	j := jqLine{out: slices.Clone(args[:verb+1])}
	for rest := args[verb+1:]; len(rest) > 0; {
		rest = rest[j.rewrite(rest):]
	}
	return j.out
}

// jqLine is the rewriting of a jq command line.
type jqLine struct {
	out         []string
	filter      bool   // the filter, or its file, was seen
	positional  string // a: after --args, j: after --jsonargs
	afterDashes bool   // after --
}

// bundledFlags are the one-letter flags that may be combined in one word.
const bundledFlags = "rcensRjaSfCM"

// valueFlags are the flags whose value is the next word.
var valueFlags = []string{
	"-f", "--from-file", "--indent", "--timeout", "--at", "--dir", "--color", "--lock-timeout",
	"--runner", "--jq", "--model",
}

// nameValueFlags are the flags that take a name and a value.
var nameValueFlags = []string{"--arg", "--argjson", "--slurpfile", "--rawfile"}

// rewrite rewrites the first words of rest and returns their number.
func (j *jqLine) rewrite(rest []string) int {
	word := rest[0]
	switch {
	case j.afterDashes || !strings.HasPrefix(word, "-") || word == "-":
		if j.positional != "" && j.filter {
			j.out = append(j.out, "--"+PositionalFlag+"="+j.positional+word)
			return 1
		}
		j.filter = true
	case !j.filter && len(word) > 1 && word[1] != '-' && (word[1]|0x20 < 'a' || word[1]|0x20 > 'z'):
		// Not a flag but a filter such as -1, which the flag parser accepts after a space. Flags
		// that precede it in the word must stay flags.
		j.filter = true
		word = " " + word
	case word == "--args", word == "--jsonargs":
		j.positional = word[2:3] + ":"
		return 1
	case word == "--":
		// Flags that are made of the words behind it must still be flags.
		j.afterDashes = true
		if j.positional != "" && j.filter {
			return 1
		}
	case colorFlag(word, rest[1:]) != "":
		word = colorFlag(word, rest[1:])
	case len(word) > 2 && strings.ContainsAny(word, "CM") &&
		strings.Trim(word[1:], bundledFlags) == "":
		for _, flag := range []string{"C", "M"} { // among others in one word
			if strings.Contains(word, flag) {
				j.out = append(j.out, colorFlag("-"+flag, nil))
				word = strings.ReplaceAll(word, flag, "")
			}
		}
		if word == "-" {
			return 1
		}
		return j.rewrite(append([]string{word}, rest[1:]...))
	case len(rest) > 2 && slices.Contains(nameValueFlags, word):
		j.out = append(j.out, word, rest[1]+"="+rest[2])
		return 3
	case slices.Contains(valueFlags, word) && len(rest) > 1:
		j.filter = j.filter || word == "-f" || word == "--from-file"
		j.out = append(j.out, word, rest[1])
		return 2
	}

	j.out = append(j.out, word)
	return 1
}

// colorFlag converts jq's flags for color, and --color without a value, to --color of tercet; empty
// for any other word.
func colorFlag(word string, rest []string) string {
	switch word {
	case "-C", "--color-output":
		return "--color=always"
	case "-M", "--monochrome-output":
		return "--color=never"
	case "--color":
		if len(rest) == 0 || !slices.Contains([]string{"auto", "always", "never"}, rest[0]) {
			return "--color=always"
		}
	}
	return ""
}

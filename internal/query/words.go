package query

import (
	"slices"
	"strings"
)

// PositionalFlag holds the words after --args and --jsonargs.
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
		rest = rest[j.take(rest):]
	}
	return j.out
}

// jqLine is a command line of jq that is being rewritten.
type jqLine struct {
	out    []string
	filter bool   // there was the filter, or the file that holds it
	behind string // a: behind --args, j: behind --jsonargs
	plain  bool   // behind --
}

// bundled are the flags of one letter that may stand in one word.
const bundled = "rcensRjaSfCM"

// valued are the flags whose value is the word behind them.
var valued = []string{
	"-f", "--from-file", "--indent", "--timeout", "--at", "--dir", "--color", "--lock-timeout",
	"--runner", "--jq", "--model",
}

// named are the flags that take a name and a value.
var named = []string{"--arg", "--argjson", "--slurpfile", "--rawfile"}

// take rewrites the first words of rest and gives how many they were.
func (j *jqLine) take(rest []string) int {
	word := rest[0]
	switch {
	case j.plain || !strings.HasPrefix(word, "-") || word == "-":
		if j.behind != "" && j.filter {
			j.out = append(j.out, "--"+PositionalFlag+"="+j.behind+word)
			return 1
		}
		j.filter = true
	case !j.filter && len(word) > 1 && word[1] != '-' && (word[1]|0x20 < 'a' || word[1]|0x20 > 'z'):
		// No flag: a filter such as -1, which the parser of flags takes as one behind a space.
		j.filter = true
		word = " " + word
	case word == "--args", word == "--jsonargs":
		j.behind = word[2:3] + ":"
		return 1
	case word == "--":
		// Flags that are made of the words behind it must still be flags.
		j.plain = true
		if j.behind != "" && j.filter {
			return 1
		}
	case paints(word, rest[1:]) != "":
		word = paints(word, rest[1:])
	case len(word) > 2 && strings.ContainsAny(word, "CM") && strings.Trim(word[1:], bundled) == "":
		for _, flag := range []string{"C", "M"} { // among others in one word
			if strings.Contains(word, flag) {
				j.out = append(j.out, paints("-"+flag, nil))
				word = strings.ReplaceAll(word, flag, "")
			}
		}
		if word == "-" {
			return 1
		}
		return j.take(append([]string{word}, rest[1:]...))
	case len(rest) > 2 && slices.Contains(named, word):
		j.out = append(j.out, word, rest[1]+"="+rest[2])
		return 3
	case slices.Contains(valued, word) && len(rest) > 1:
		j.filter = j.filter || word == "-f" || word == "--from-file"
		j.out = append(j.out, word, rest[1])
		return 2
	}

	j.out = append(j.out, word)
	return 1
}

// paints gives jq's flags for colour, and --color without a word behind it, as --color of tercet;
// empty: it is none.
func paints(word string, rest []string) string {
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

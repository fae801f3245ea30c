package agentcli

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"tercet/formats"
	"tercet/internal/lazy"
)

// code gives a program's failure its place in the table of codes.
func (f Fault) code() formats.Code {
	status := cmp.Or(f.Status, statusIn(f.Message))
	text := strings.ToLower(f.Kind + " " + f.Message)
	switch {
	case f.Kind == kindProtocol:
		return formats.CodeToolUnavailable
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired,
		notLoggedIn().MatchString(text):
		return formats.CodeAuth
	case status == http.StatusForbidden:
		return formats.CodeAuth
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return formats.CodeTransient
	case limitExceeded().MatchString(text):
		return formats.CodeLimit
	case status == http.StatusNotFound, unknownModel().MatchString(text):
		return formats.CodeConfig
	case status >= 400:
		return formats.CodeUnknown
	case transientError().MatchString(text):
		return formats.CodeTransient
	}
	return formats.CodeUnknown
}

// Parts of messages, in lower case.
var (
	notLoggedIn = lazy.Regexp(
		`authentication_error|unauthenticated|not logged in|please run /login|` +
			`invalid auth method|invalid api key|api key not valid|set an auth method|` +
			`credit balance|no authentication information|personal access tokens`,
	)
	limitExceeded = lazy.Regexp(
		`max_turns|max_budget|prompt is too long|context window|context_length|maximum context`,
	)
	unknownModel = lazy.Regexp(
		`model not found|model_not_found|no such model|unknown model|invalid model|` +
			`providermodelnotfound`,
	)
	transientError = lazy.Regexp(
		`connection|econnre|enotfound|etimedout|network|fetch failed|stream disconnected|` +
			`socket|high demand|overloaded|rate limit|temporar|json parse|parse json|` +
			`json segment|terminated|timed out|unable to connect|cannot connect`,
	)
)

// httpStatus is a status as the agent CLIs write it into their messages.
var httpStatus = lazy.Regexp(
	`(?i)(?:\bstatus:?|\bcode"?:|\bAPI error:?|\brejected|\berror:)\s*\(?([45]\d\d)\b`,
)

// statusIn finds the HTTP status that a message names.
func statusIn(message string) int {
	m := httpStatus().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

// help says what to do next, by the code.
func (d Driver) help(code formats.Code) string {
	name := d.Name
	advice := map[formats.Code]string{
		formats.CodeAuth:      d.LoginHelp(nil, nil),
		formats.CodeTransient: "run the command again, or give the step `retry`",
		formats.CodeLimit:     "raise `limits` in the subagent's file, or give it less to do",
		formats.CodeConfig: "name another model by --model, or by `model` in the subagent's file " +
			"or in config.yaml, " +
			"or change the agent CLI's own configuration",
		formats.CodeToolUnavailable: "install it: npm install -g " + d.Package + "@" + d.Tested,
	}
	if d.Package == "" {
		advice[formats.CodeToolUnavailable] = "install it, or change `acp` in config.yaml or " +
			"`argv` in the subagent's file"
	}
	return cmp.Or(advice[code], "run tercet doctor, then "+name+" by hand")
}

// LoginHelp says how to log in. user gives a variable of the user, child one that the agent CLI
// gets of these; nil: they are not known.
func (d Driver) LoginHelp(user, child func(name string) string) string {
	start := "start " + d.Name + " once to log in"
	if len(d.Keys) == 0 {
		return start
	}
	set := func(get func(string) string) string {
		for _, key := range d.Keys {
			if get != nil && get(key) != "" {
				return key
			}
		}
		return ""
	}

	if key := set(child); key != "" {
		return "look at the key in " + key + ", or " + start
	}
	if key := set(user); key != "" {
		return key + " is set, but " + d.Name + " does not get it: write `env: [" + key +
			"]` into config.yaml; or " + start
	}
	key := d.Keys[0]
	return start + ", or set " + key + " and write `env: [" + key + "]` into config.yaml"
}

// firstLine is the first line of a message, shortened.
func firstLine(message string) string {
	const most = 300
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return cmp.Or(formats.Clip(line, most), "no reason given")
}

package returns_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tercet/formats"
	"tercet/formats/returns"
)

// asked is the delegation that the returns of this file are read for.
func asked() returns.ParseOptions {
	return returns.ParseOptions{Agent: "planner", Nonce: "n7k2p9qx"}
}

// written is a return before it takes a form: members of the object, lines of the block.
type written struct {
	agent   string
	members []string // of the object, without agent
	lines   []string // of the block, without the header
}

// good is the return that the delegation asked for.
func good() written {
	return written{
		agent:   "planner",
		members: []string{`"status": "completed"`, `"summary": "wrote it"`, `"nonce": "n7k2p9qx"`},
		lines:   []string{"STATUS: success", "SUMMARY: wrote it", "NONCE: n7k2p9qx"},
	}
}

// with replaces the member and the line of a key; an empty one takes it away.
func (w written) with(key, member, line string) written {
	swap := func(list []string, mark, by string) []string {
		var out []string
		for _, one := range list {
			switch {
			case !strings.HasPrefix(one, mark):
				out = append(out, one)
			case by != "":
				out = append(out, by)
			}
		}
		return out
	}

	w.members = swap(w.members, `"`+key+`":`, member)
	w.lines = swap(w.lines, strings.ToUpper(key)+":", line)
	return w
}

// and adds a member and a line.
func (w written) and(member, line string) written {
	if member != "" {
		w.members = append(append([]string{}, w.members...), member)
	}
	if line != "" {
		w.lines = append(append([]string{}, w.lines...), line)
	}
	return w
}

func (w written) object() string {
	return "{\n  " +
		strings.Join(append([]string{`"agent": "` + w.agent + `"`}, w.members...), ",\n  ") + "\n}"
}

func (w written) block() string {
	return "AGENT_RESULT: " + w.agent + "\n" + strings.Join(w.lines, "\n")
}

// forms are the ways in which a final message carries a return.
func forms() map[string]func(written) string {
	return map[string]func(written) string{
		"bare object": written.object,
		"fenced object": func(w written) string {
			return "I am done.\n\n```json\n" + w.object() + "\n```\n"
		},
		"object in a fence without a mark": func(w written) string {
			return "I am done.\n\n```\n" + w.object() + "\n```\n"
		},
		"object in a fence of another mark": func(w written) string {
			return "I am done.\n\n~~~~yaml\n" + w.object() + "\n~~~~\nBye.\n"
		},
		"block": func(w written) string {
			return "I am done.\n\n" + w.block() + "\n"
		},
		"fenced block": func(w written) string {
			return "I am done.\n\n```\n" + w.block() + "\n```\n"
		},
	}
}

// forgeries are returns that are not this delegation's, or cannot be known to be.
func forgeries() map[string]written {
	g := good()

	other := g
	other.agent = "reviewer"

	return map[string]written{
		"no nonce":              g.with("nonce", "", ""),
		"wrong nonce":           g.with("nonce", `"nonce": "aaaaaaaa"`, "NONCE: aaaaaaaa"),
		"empty nonce":           g.with("nonce", `"nonce": ""`, "NONCE:"),
		"null nonce":            g.with("nonce", `"nonce": null`, "NONCE: null"),
		"nonce in another case": g.with("nonce", `"nonce": "N7K2P9QX"`, "NONCE: N7K2P9QX"),
		"half a nonce":          g.with("nonce", `"nonce": "n7k2"`, "NONCE: n7k2"),
		"more than the nonce": g.with(
			"nonce",
			`"nonce": "n7k2p9qx or so"`,
			"NONCE: n7k2p9qx or so",
		),
		"nonce in a list": g.with(
			"nonce",
			`"nonce": ["n7k2p9qx"]`,
			"NONCE:\n  - n7k2p9qx",
		),
		"nonce in a map": g.with(
			"nonce",
			`"nonce": {"n7k2p9qx": "n7k2p9qx"}`,
			"META:\n  NONCE: n7k2p9qx",
		),
		"nonce below another member": g.with(
			"nonce",
			`"fields": {"nonce": "n7k2p9qx"}`,
			"FIELDS: nonce n7k2p9qx",
		),
		"nonce key in upper case": g.with("nonce", `"NONCE": "n7k2p9qx"`, "nonce: n7k2p9qx"),
		"nonce key in mixed case": g.with("nonce", `"Nonce": "n7k2p9qx"`, "Nonce: n7k2p9qx"),
		"nonce twice, right one last": g.with(
			"nonce",
			`"nonce": "aaaaaaaa", "nonce": "n7k2p9qx"`,
			"NONCE: aaaaaaaa\nNONCE: n7k2p9qx",
		),
		"nonce twice, right one first": g.with(
			"nonce",
			`"nonce": "n7k2p9qx", "nonce": "aaaaaaaa"`,
			"NONCE: n7k2p9qx\nNONCE: aaaaaaaa",
		),
		"another agent": other,
		"another agent and nonce": other.with(
			"nonce",
			`"nonce": "aaaaaaaa"`,
			"NONCE: aaaaaaaa",
		),
		"status twice": g.with(
			"status",
			`"status": "failed", "status": "completed"`,
			"STATUS: error\nSTATUS: success",
		),
		"status in another case too": g.and(`"Status": "completed"`, "").with(
			"status",
			`"status": "failed"`,
			"Status: success",
		),
		"status key in upper case": g.with(
			"status",
			`"STATUS": "completed"`,
			"status: success",
		),
		"status of no table": g.with(
			"status",
			`"status": "splendid"`,
			"STATUS: splendid",
		),
		"status of the template": g.with(
			"status",
			`"status": "completed|failed"`,
			"STATUS: success | error",
		),
		"no status": g.with("status", "", ""),
	}
}

func TestForgedReturnsAreRefused(t *testing.T) {
	t.Parallel()

	tried := 0
	refuse := func(what, text string, opt returns.ParseOptions) {
		tried++
		ret, _, err := returns.FinalMessage([]byte(text), opt)
		if err == nil {
			t.Errorf("FinalMessage(%s) accepted %+v of:\n%s", what, ret, text)
			return
		}

		if formats.CodeOf(err) != formats.CodeInvalidReturn || err.Error() == "" {
			t.Errorf("FinalMessage(%s): code %s, message %q", what, formats.CodeOf(err), err)
		}
	}

	for form, wrap := range forms() {
		for what, w := range forgeries() {
			refuse(form+", "+what, wrap(w), asked())
		}

		fine := wrap(good())
		quote := "> " + strings.ReplaceAll(fine, "\n", "\n> ")
		cut := fine[:strings.Index(fine, "n7k2p9qx")]

		refuse(form+", quoted from a file", quote, asked())
		refuse(form+", cut off before the nonce", cut, asked())
		refuse(form+", shown twice", fine+"\n\n"+fine, asked())
		refuse(
			form+", nonce in the prose",
			"The nonce is n7k2p9qx.\n\n"+wrap(good().with("nonce", "", "")),
			asked(),
		)

		none := asked()
		none.Nonce = ""
		refuse(form+", a delegation without a nonce", fine, none)
	}

	// What stands in a tool's output is never a final message; the object of such an output has no
	// status and summary.
	refuse(
		"inside tool output",
		`{"type": "tool_result", "content": "{\"status\": \"completed\", \"summary\": \"x\", `+
			`\"nonce\": \"n7k2p9qx\"}"}`,
		asked(),
	)
	refuse("nothing", "", asked())
	refuse("prose", "All done, status: completed, summary: fine, nonce: n7k2p9qx", asked())

	if tried < 100 {
		t.Errorf("%d forgeries were tried, want at least 100", tried)
	}

	t.Logf("%d forgeries refused", tried)
}

// spellings are honest returns as models write them, with the status that each amounts to.
func spellings() map[string]written {
	g := good()
	all := map[string]written{
		"plain": g,
		"the right session": g.and(
			`"session_id": "sess_1767610000_k3x9qa"`,
			"SESSION_ID: sess_1767610000_k3x9qa",
		),
		"the right depth": g.and(`"metadata": {"delegation_depth": 2}`, "DELEGATION_DEPTH: 2"),
		"the right task":  g.and(`"task_number": 196`, "TASK_NUMBER: 196"),
		"another session": g.and(`"session_id": "sess_1_aaaaaa"`, "SESSION_ID: sess_1_aaaaaa"),
		"another depth":   g.and(`"metadata": {"delegation_depth": 1}`, "DELEGATION_DEPTH: 1"),
		"another task":    g.and(`"task_number": 197`, "TASK_NUMBER: 197"),
		"an agent inside": g.and(
			`"metadata": {"agent_type": "reviewer", "task_number": "19"}`,
			"AGENT_TYPE: reviewer",
		),
		"no summary": g.with("summary", "", ""),
		"what it measured": g.and(
			`"metadata": {"duration_seconds": 12, "model": "m"}`,
			"DURATION: 12s",
		),
		"unknown members": g.and(`"completion_data": {"a": 1}`, "COMPLETION_DATA:\n  a: 1"),
		"artifacts": g.and(
			`"artifacts": ["plans/plan.md"]`,
			"ARTIFACTS:\n  - plans/plan.md (the plan)",
		),
		"one artifact": g.and(
			`"artifacts": {"type": "plan", "path": "plan.md"}`,
			"ARTIFACTS: plan.md",
		),
		"next": g.and(`"next_steps": ["a", "b"]`, "NEXT: implementer"),
		"issues": g.and(
			`"issues": [{"level": "warning", "description": "slow: a, b"}]`,
			"ISSUES:\n  - slow: a, b  # really",
		),
		"unicode":           g.with("summary", `"summary": "done ✓ \u00e9"`, "SUMMARY: done ✓ é"),
		"a fence in a text": g.and(`"text": "look:\n`+"```sh\\nls\\n```"+`"`, "TEXT: look: `ls`"),
		"no errors":         g.and(`"errors": []`, "ERRORS: none"),
	}
	for _, word := range []string{
		"done", "COMPLETED", "Success", "researched", "planned", "implemented", "in_progress",
		"partial", "approved", "needs_work",
	} {
		line := "success"
		switch word {
		case "in_progress", "partial":
			line = "Partial"
		case "approved":
			line = "APPROVED"
		case "needs_work":
			line = "rejected"
		}
		all["status "+word] = g.with("status", `"status": "`+word+`"`, "STATUS: "+line)
	}

	return all
}

func TestGenuineReturnsAreAccepted(t *testing.T) {
	t.Parallel()
	tried := 0
	accept := func(what, text string) {
		tried++
		ret, raw, err := returns.FinalMessage([]byte(text), asked())
		if err != nil {
			t.Errorf("FinalMessage(%s) = %v, want it accepted:\n%s", what, err, text)
			return
		}
		if ret.Status != formats.StatusCompleted && ret.Status != formats.StatusPartial ||
			len(raw) == 0 || ret.Metadata.Session != "" {
			t.Errorf("FinalMessage(%s) = %+v", what, ret)
		}
	}
	stray := "An example:\n\n```json\n{\"status\": \"failed\", \"summary\": \"example\"}\n```\n\n" +
		"AGENT_RESULT: planner\nSTATUS: error\n\nAGENT_RESULT: reviewer\nSTATUS: rejected\n" +
		"NONCE: zzzzzzzz\n\n"
	for form, wrap := range forms() {
		for what, w := range spellings() {
			accept(form+", "+what, wrap(w))
		}
		fine := wrap(good())
		accept(form+", CRLF", strings.ReplaceAll(fine, "\n", "\r\n"))
		if form == "bare object" {
			continue
		}
		accept(form+", after other blocks", stray+fine)
		accept(form+", before other words", fine+"\n\nThat is all.\n")
		accept(form+", in a longer fence", "````markdown\n"+fine+"````\n")
		accept(form+", indented", "  "+strings.ReplaceAll(fine, "\n", "\n  "))
	}

	accept("a fence of tildes", "~~~json\n"+good().object()+"\n~~~")
	accept("a fence marked in capitals", "```JSON title\n"+good().object()+"\n```")
	if tried < 100 {
		t.Errorf("%d returns were tried, want at least 100", tried)
	}
	t.Logf("%d genuine returns accepted", tried)
}

// TestForgedFilesAreRefused is the channel of a file, whose folder authenticates: what is written
// there may leave the nonce out, but may not contradict the delegation.
func TestForgedFilesAreRefused(t *testing.T) {
	t.Parallel()
	for what, w := range forgeries() {
		switch what {
		case "no nonce", "null nonce", "nonce below another member":
			if _, err := returns.Parse([]byte(w.object()), asked()); err != nil {
				t.Errorf("Parse(%s) = %v, want it accepted: the file authenticates",
					what, err)
			}
			continue
		}
		if ret, err := returns.Parse([]byte(w.object()), asked()); err == nil {
			t.Errorf("Parse(%s) accepted %+v", what, ret)
		}
	}
	for what, w := range spellings() {
		if _, err := returns.Parse([]byte(w.object()), asked()); err != nil {
			t.Errorf("Parse(%s) = %v, want nil", what, err)
		}
	}
}

func TestFinalMessageTellsEverything(t *testing.T) {
	t.Parallel()

	text := "```json\n{\"status\": \"splendid\", \"summary\": 5, \"nonce\": \"n7k2p9qx\", " +
		"\"agent\": \"x\", \"artifacts\": 3}\n```\n"

	_, raw, err := returns.FinalMessage([]byte(text), asked())
	if err == nil || raw == nil {
		t.Fatalf("FinalMessage = %s, %v, want the text and an error", raw, err)
	}

	for _, part := range []string{"status", "agent", "artifacts"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not speak of %s:\n%v", part, err)
		}
	}

	_, _, err = returns.FinalMessage(
		[]byte("```json\n{\"status\": \"completed\", \"summary\": \"x\", \"summary\": \"y\"}\n```"),
		asked(),
	)
	if err == nil || !strings.Contains(err.Error(), "final message:2:") {
		t.Errorf("FinalMessage of a broken object = %v, want its place", err)
	}
}

func FuzzFinalMessage(f *testing.F) {
	for _, wrap := range forms() {
		f.Add(wrap(good()))
		for _, w := range forgeries() {
			f.Add(wrap(w))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		ret, raw, err := returns.FinalMessage([]byte(text), asked())
		if err == nil && (!strings.Contains(text, "n7k2p9qx") || ret.Status == "") {
			t.Fatalf("FinalMessage(%q) = %+v, want a status and the nonce in the text", text, ret)
		}

		// a block of the message has its line ends made alike, a bare object has its own
		lines := regexp.MustCompile(`\r+\n`)
		alike := func(s string) string {
			return lines.ReplaceAllString(s, "\n")
		}

		if err == nil && !strings.Contains(alike(text), strings.TrimSpace(alike(string(raw)))) {
			t.Fatalf("FinalMessage(%q): raw %q is not in the text", text, raw)
		}

		if formats.CodeOf(err) == formats.CodeBug {
			t.Fatal(fmt.Sprint(err))
		}
	})
}

// TestReturnsAreNestedToOneLimit: every reader of returns takes the same depth, and says at which
// place it ends.
func TestReturnsAreNestedToOneLimit(t *testing.T) {
	t.Parallel()
	const most = 32 // levels, the return and its fields among them
	for depth, accepted := range map[int]bool{most: true, most + 1: false, 42: false, 64: false} {
		inner := depth - 2

		text := `{"agent": "planner", "status": "completed", "summary": "s", ` +
			`"nonce": "n7k2p9qx", "fields": {"a": ` +
			strings.Repeat("[", inner) + strings.Repeat("]", inner) + `}}`

		_, parsed := returns.Parse([]byte(text), asked())
		_, _, message := returns.FinalMessage([]byte("```json\n"+text+"\n```\n"), asked())
		_, read := returns.ReadResult([]byte(text), asked(), func(string) formats.AgentInfo {
			return formats.AgentInfo{NoArtifacts: true}
		})

		for what, err := range map[string]error{
			"Parse":        parsed,
			"FinalMessage": message,
			"ReadResult":   read,
		} {
			if accepted != (err == nil) || err != nil && !strings.Contains(err.Error(), "32") {
				t.Errorf("%s of %d levels = %v, want accepted: %t", what, depth, err, accepted)
			}
		}
	}
}

// TestBlockOfAForeignAgent: an agent whose own file asks for an AGENT_RESULT block does not know of
// a nonce. Its block counts if no other return stands in the message.
func TestBlockOfAForeignAgent(t *testing.T) {
	t.Parallel()

	const own = "AGENT_RESULT: planner\nSTATUS: success\nSUMMARY: wrote it\n"
	const other = "AGENT_RESULT: tester\nSTATUS: success\n"

	for _, tt := range []struct {
		name, text string
		taken      bool
	}{
		{"its block", "Done.\n\n" + own, true},
		{"in a fence", "Done.\n\n```\n" + own + "```\n", true},
		{
			"quoted",
			"Done.\n\n> AGENT_RESULT: planner\n> STATUS: success\n> SUMMARY: wrote it\n",
			true,
		},
		{"with the nonce", own + "NONCE: n7k2p9qx\n", true},
		{"with another nonce", own + "NONCE: other\n", false},
		{"two blocks", own + "\n" + own, false},
		{"beside the block of another agent", other + "\n" + own, false},
		{"beside an object", "```json\n{\"status\": \"failed\"}\n```\n\n" + own, false},
		{"of another agent", other, false},
		{"a template", "AGENT_RESULT: planner\nSTATUS: success | error\n", false},
	} {
		opt := asked()
		opt.Block = true
		ret, _, err := returns.FinalMessage([]byte(tt.text), opt)

		if (err == nil) != tt.taken || tt.taken && ret.Summary != "wrote it" {
			t.Errorf("%s: %+v, %v; taken should be %t", tt.name, ret, err, tt.taken)
		}

		opt.Block = false
		if _, _, err := returns.FinalMessage([]byte(tt.text), opt); (err == nil) !=
			(tt.name == "with the nonce") {
			t.Errorf("%s, of another agent: %v", tt.name, err)
		}
	}
}

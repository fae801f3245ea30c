package shell_test

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tercet/formats"
	"tercet/internal/shell"
)

func here() shell.Place {
	return shell.Place{
		Root: "/work/app",
		Dir:  "/work/app",
		Home: "/people/ann",
	}
}

// table reads the commands with what is to be found in them.
func table(tb testing.TB) (out [][2]string) {
	tb.Helper()
	f, err := os.Open("testdata/commands.txt")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		want, command, ok := strings.Cut(lines.Text(), " ::: ")
		if ok && !strings.HasPrefix(want, "#") {
			out = append(out, [2]string{strings.TrimSpace(want), command})
		}
	}
	return out
}

var (
	short = map[shell.Category]string{
		shell.DestructiveFS: "fs", shell.ProdDB: "db", shell.PrivilegeEscalation: "root",
		shell.SecretAccess: "secret", shell.ExternalNet: "net",
	}
	signs = map[shell.Level]string{shell.Optional: "-", shell.Recommended: "+", shell.Required: "!"}
)

// brief gives the highest tier of each category, in the signs of the table.
func brief(r shell.Report) string {
	top := map[string]shell.Level{}
	for _, f := range r.Findings {
		top[short[f.Category]] = max(top[short[f.Category]], f.Level)
	}
	var out []string
	for c, t := range top {
		out = append(out, c+signs[t])
	}
	if len(r.Unknown) > 0 {
		out = append(out, "?")
	}
	if len(out) == 0 {
		return "."
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestCommands(t *testing.T) {
	t.Parallel()
	list := table(t)
	if len(list) < 300 {
		t.Errorf("the table has %d commands, want at least 300", len(list))
	}
	seen := map[string]bool{}
	for _, tt := range list {
		if seen[tt[1]] {
			t.Errorf("%s stands twice in the table", tt[1])
		}
		seen[tt[1]] = true
		r, err := shell.Classify(tt[1], here())
		if err != nil {
			t.Errorf("Classify(%s): %v", tt[1], err)
			continue
		}
		want := strings.Fields(tt[0])
		slices.Sort(want)
		if got := brief(r); got != strings.Join(want, " ") {
			t.Errorf("Classify(%s) = %s, want %s; findings %+v, unknown %+v",
				tt[1], got, tt[0], r.Findings, r.Unknown)
		}
	}
}

func TestPlacesAndTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		src  string
		want []shell.Finding
	}{
		{"ls; rm -rf ../x", []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 1, Col: 5},
			Command:  "rm",
			Target:   "/work/x",
			Reason:   "deletes outside the project",
		}}},
		{"set -e\n\tcd /\n  rm -rf etc", []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 3, Col: 3},
			Command:  "rm",
			Target:   "/etc",
			Reason:   "deletes outside the project",
		}}},
		{"sh -c 'ls\nrm ~/a'", []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 2, Col: 1},
			Command:  "rm",
			Target:   "/people/ann/a",
			Reason:   "deletes outside the project",
		}}},
		{`bash -c "ls; rm ~/a"`, []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 1, Col: 14},
			Command:  "rm",
			Target:   "/people/ann/a",
			Reason:   "deletes outside the project",
		}}},
		{`bash -c r"m ~/a"`, []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 1, Col: 9},
			Command:  "rm",
			Target:   "/people/ann/a",
			Reason:   "deletes outside the project",
		}}},
		{"echo x >/etc/x$N", []shell.Finding{{
			Category: shell.DestructiveFS,
			Level:    shell.Required,
			Pos:      formats.Pos{Line: 1, Col: 8},
			Command:  ">",
			Target:   "/etc/x?",
			Reason:   "writes a file of the system",
		}}},
		{"psql postgres://ann:geheim@db.example.com/app", []shell.Finding{
			{
				Category: shell.ProdDB,
				Level:    shell.Required,
				Pos:      formats.Pos{Line: 1, Col: 1},
				Command:  "psql",
				Target:   "postgres://ann@db.example.com/app",
				Reason:   "works on a database of another machine",
			},
		}},
		{"sudo -u bob cat .env", []shell.Finding{
			{
				Category: shell.PrivilegeEscalation,
				Level:    shell.Required,
				Pos:      formats.Pos{Line: 1, Col: 1},
				Command:  "sudo",
				Reason:   "runs with the rights of another",
			},
			{
				Category: shell.SecretAccess,
				Level:    shell.Recommended,
				Pos:      formats.Pos{Line: 1, Col: 13},
				Command:  "cat",
				Target:   "/work/app/.env",
				Reason:   "reads keys, passwords or tokens",
			},
		}},
	} {
		r, err := shell.Classify(tt.src, here())
		if err != nil {
			t.Errorf("Classify(%q): %v", tt.src, err)
			continue
		}
		if diff := cmp.Diff(tt.want, r.Findings); diff != "" {
			t.Errorf("findings of %q differ (-want +got):\n%s", tt.src, diff)
		}
	}
}

func TestPlaceDecides(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		place shell.Place
		src   string
		want  shell.Level
	}{
		{shell.Place{Root: "/work/app", Dir: "/work/app/src"}, "rm -rf ../build", shell.Optional},
		{shell.Place{Root: "/work/app", Dir: "/work/app/src"}, "rm -rf ..", shell.Required},
		{shell.Place{Root: "/work/app", Dir: "/work/app/src"}, "rm -rf ../..", shell.Required},
		{shell.Place{Root: "/people/ann/app", Home: "/people/ann"}, "rm -rf build", shell.Optional},
		{
			shell.Place{Root: "/people/ann/app", Home: "/people/ann"},
			"rm -rf ~/app/build",
			shell.Optional,
		},
		{shell.Place{Root: "/tmp/app"}, "rm -rf .", shell.Required},
		{shell.Place{Root: "/tmp/app"}, "rm -rf /tmp/other", shell.Optional},
		{shell.Place{}, "rm -rf build", shell.Recommended},
		{shell.Place{}, "rm -rf /", shell.Required},
		{shell.Place{}, "ls", shell.Optional},
	} {
		r, err := shell.Classify(tt.src, tt.place)
		if err != nil || r.Level != tt.want {
			t.Errorf("Classify(%q, %+v) = %s, %v, want %s", tt.src, tt.place, r.Level, err, tt.want)
		}
	}
}

func TestUnknown(t *testing.T) {
	t.Parallel()
	r, err := shell.Classify("ls\n  $X a", here())
	want := []shell.Unknown{{
		Pos:    formats.Pos{Line: 2, Col: 3},
		Reason: "which program it is shows only when it runs",
	}}
	if diff := cmp.Diff(want, r.Unknown); diff != "" || err != nil || r.Level != shell.Recommended {
		t.Errorf("unknown code differs (-want +got):\n%s%v, tier %s", diff, err, r.Level)
	}
}

func TestNotAClassify(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"echo 'x":         "command:1:6: reached EOF without closing quote `'` (USAGE)",
		"ls\nif true; ls": "command:2:1: `if <cond>` must be followed by `then` (USAGE)",
		"a && && b":       "command:1:3: `&&` must be followed by a statement (USAGE)",
	} {
		_, err := shell.Classify(src, here())
		if err == nil || !strings.HasPrefix(err.Error(), want[:strings.LastIndex(want, ": ")]) ||
			formats.HelpOf(err) == "" {
			t.Errorf("Classify(%q) = %v, want %s", src, err, want)
		}
	}
	_, err := shell.Classify(strings.Repeat("a", shell.MaxSource+1), here())
	if formats.CodeOf(err) != formats.CodeLimit {
		t.Errorf("Classify(a text that is too long) = %v, want LIMIT", err)
	}
}

func TestArgv(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"rm", "-rf", "/"}, "fs!"},
		{[]string{"echo", "$(rm -rf /)", "; rm -rf /", "> /etc/passwd"}, "."},
		{[]string{"rm", "-rf", "$HOME/x y"}, "fs+"},
		{[]string{"sh", "-c", "rm -rf /"}, "fs!"},
		{nil, "."},
	} {
		r, err := shell.ClassifyArgv(tt.argv, here())
		if got := brief(r); err != nil || got != tt.want {
			t.Errorf("Argv(%q) = %s, %v, want %s", tt.argv, got, err, tt.want)
		}
	}
	if _, err := shell.ClassifyArgv([]string{"a\x00b"}, here()); err == nil {
		t.Error("Argv(a NUL) = nil, want an error")
	}
}

// What is said of text whose commands are looked at all the same.
const (
	ofCompound     = "which of its commands run shows only when it runs"
	ofSubstitution = "what its commands print shows only when it runs"
)

// TestUnknownStructure: what is no simple command, no pipeline and no list is unknown.
func TestUnknownStructure(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"ls -l | wc -l && (cd src; { pwd; }) || ! true & x=1 time ls > out": "",
		"for f in a b; do echo $f; done":                                    ofCompound,
		"for ((i=0; i<3; i++)); do ls; done":                                ofCompound,
		"if true; then ls; elif false; then ls; else ls; fi":                ofCompound,
		"while read l; do echo; done < list":                                ofCompound,
		"until ls; do true; done":                                           ofCompound,
		"case a in a) ls;; esac":                                            ofCompound,
		"f() { ls; }":                                                       ofCompound,
		"echo $(ls)":                                                        ofSubstitution,
		"echo `ls`":                                                         ofSubstitution,
		"x=\"a $(ls) b\"":                                                   ofSubstitution,
		"diff <(ls) x":                                                      ofSubstitution,
		"cat <<X\n$(ls)\nX":                                                 ofSubstitution,
		"[[ -n $(ls) ]]":                                                    ofSubstitution,
		"echo $((1 + $(ls)))":                                               ofSubstitution,
		"true && if true; then ls; fi | cat":                                ofCompound,
		"sh -c 'for f in a; do ls; done'":                                   ofCompound,
	} {
		r, err := shell.Classify(src, here())
		if err != nil {
			t.Errorf("Classify(%q): %v", src, err)
			continue
		}
		got := ""
		for _, u := range r.Unknown {
			got += u.Reason
		}
		if got != want {
			t.Errorf("Classify(%q): unknown %q, want %q", src, got, want)
		}
	}
}

// TestNothingHides puts one command into every wrapper, alone and in pairs: it is found behind all
// of them.
func TestNothingHides(t *testing.T) {
	t.Parallel()
	wraps := []string{
		"env A=1 %", "nice -n 3 %", "timeout -k 1 5 %", "nohup %", "setsid %", "stdbuf -oL %",
		"command %", "exec %", "xargs -n 1 %", "sudo -u x %", "time %", "strace -f -o /tmp/t %",
		"find . -exec % \\;", "flock /tmp/l %", "( % )", "{ %; }", "if true; then %; fi",
		"while true; do %; done", "case x in x) %;; esac", "f() { %; }", "! %", "% &", "true | %",
		"% | true", "echo $( %)", "echo `%`", "diff <(%) x", "a=$( %)", "export a=$( %)",
		"cat <<X\n$( %)\nX\n", "[[ -n $( %) ]]", "echo $((1+$( %)))", "a=($( %))",
		"echo ${x:-$( %)}", "coproc %", "busybox %", "poetry run %",
	}
	const inner = "rm -rf /etc/x"
	for _, a := range wraps {
		for _, b := range append([]string{"%"}, wraps...) {
			if strings.HasPrefix(b, "! ") || strings.HasPrefix(b, "coproc ") ||
				strings.Contains(a, "`") && strings.Contains(b, "`") {
				continue // a program cannot start a word of the shell, and backquotes do not nest
			}
			src := strings.ReplaceAll(a, "%", strings.ReplaceAll(b, "%", inner))
			r, err := shell.Classify(src, here())
			if err != nil {
				continue // not every pair is a command
			}
			deletes := func(f shell.Finding) bool {
				return f.Category == shell.DestructiveFS && f.Level == shell.Required
			}
			unread := slices.DeleteFunc(slices.Clone(r.Unknown), func(u shell.Unknown) bool {
				return u.Reason == ofCompound || u.Reason == ofSubstitution
			})
			if !slices.ContainsFunc(r.Findings, deletes) && len(unread) == 0 {
				t.Errorf("Classify(%q) finds %+v, want the deletion", src, r.Findings)
			}
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, tt := range table(f) {
		f.Add(tt[1])
	}
	for _, s := range []string{
		"$(", "{a,b}{c,d}{1..99999999}", "eval eval eval", "cat <<A <<B\nx\nA\ny\nB", "\xff",
		"~+/x", "$((`rm`))", "rm -rf {{{", "a=${a:-${a}}",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, src string) {
		lines := strings.Split(src, "\n")
		r, err := shell.Classify(src, here())
		if err != nil {
			if formats.CodeOf(err) == formats.CodeUnknown {
				t.Fatalf("Classify(%q): %v has no code", src, err)
			}
			return
		}
		tier := shell.Optional
		for _, one := range r.Findings {
			tier = max(tier, one.Level)
			if one.Pos.Line < 1 || one.Pos.Col < 1 || one.Pos.Line > len(lines) ||
				one.Reason == "" || one.Command == "" && one.Reason == "" ||
				strings.Contains(one.Target, "\x00") {
				t.Fatalf("Classify(%q): finding %+v says too little", src, one)
			}
		}
		if len(r.Unknown) > 0 {
			tier = max(tier, shell.Recommended)
		}
		if tier != r.Level {
			t.Fatalf("Classify(%q): tier %s, want %s", src, r.Level, tier)
		}
	})
}

// classOf gives one sign for each finding of a report, as testdata/classes.txt has them.
func classOf(r shell.Report) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, short[f.Category]+signs[f.Level])
	}
	slices.Sort(out)
	for range r.Unknown {
		out = append(out, "?")
	}
	if len(out) == 0 {
		return "."
	}
	return strings.Join(out, " ")
}

// TestClasses holds every command to the class that it had when the file was written.
func TestClasses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		want, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(want, "#") {
			continue
		}
		n++
		if strings.HasPrefix(command, `"`) {
			command, err = strconv.Unquote(command)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		got := "refused"
		if r, err := shell.Classify(command, here()); err == nil {
			got = classOf(r)
		}
		if got != want {
			t.Errorf("Classify(%s) has the class %s, want %s", command, got, want)
		}
	}

	if n < 2700 {
		t.Errorf("%d commands, want at least 2700", n)
	}
}

package dialect

import "tercet/formats"

// The codes of this package's diagnostics. E002 and E003 are those of internal/md for files of any kind; E0xx refuses a
// file, W0xx says what was done with it.
const (
	codeTooLarge = "E002"
	codeNotText  = "E003"
	codeTOML     = "E030"
	codeNoPrompt = "E031"
	codeEmpty    = "E032"

	warnLenient  = "W030"
	warnKey      = "W031"
	warnUnclosed = "W032"
	warnTwice    = "W033"
	warnMark     = "W034"
	warnVariable = "W035"
	warnName     = "W036"
	warnMissing  = "W037"
	warnValue    = "W038"
	warnBytes    = "W039"
)

// CodeTaken is the warning of the caller that an agent file is not used: its name is taken, or it is switched off.
const CodeTaken = "W041"

// Codes gives each code of this package's diagnostics with its meaning, for `tercet explain`.
func Codes() map[string]string {
	return map[string]string{
		codeTOML:     "a TOML file of another tool that cannot be read",
		codeNoPrompt: "a TOML file without the key prompt, which is therefore no command",
		codeEmpty:    "a file of another tool without any text",
		warnLenient:  "frontmatter of another tool's file that is not YAML and was read line by line",
		warnKey:      "a key that the other tool does not have; it is kept and means nothing",
		warnUnclosed: "frontmatter of another tool's file that is not closed; the whole file is its text",
		warnTwice:    "a key that stands twice; the last one counts",
		warnMark:     "a shell mark of another tool's file that is not run",
		warnVariable: "a variable of another tool that has no value here and stays as it is written",
		warnName:     "a name in a file that differs from the one it is called by",
		warnMissing:  "a key that the other tool requires",
		warnValue:    "a value of the wrong type, read as text",
		CodeTaken:    "an agent file of another tool that is not used",
		warnBytes:    "bytes that are not UTF-8 and were replaced",
	}
}

// MaxBytes is the most bytes that a file may have.
const MaxBytes = 256 << 10

// notes collects the diagnostics of one file.
type notes struct {
	file  string
	list  []formats.Diagnostic
	count map[string]int
	moved bool // places in the text that is read are not those of the file
}

// maxAlike is how many findings of one kind a file has; a last one says that there are more.
const maxAlike = 20

func (n *notes) add(code string, at formats.Pos, help, message string) {
	if n.count == nil {
		n.count = map[string]int{}
	}
	switch n.count[code]++; {
	case n.count[code] == maxAlike:
		message += "; more of the same kind are not listed"
	case n.count[code] > maxAlike:
		return
	}
	d := formats.Found(code, at, help, "%s", message)
	d.File = n.file
	n.list = append(n.list, d)
}

// refused gives the findings as the error that they are.
func (n *notes) refused(src []byte) *formats.Diagnostics {
	d := &formats.Diagnostics{List: n.list, Sources: map[string][]byte{n.file: src}}
	d.Sort()
	return d
}

package dialect

import "tercet/formats"

// The codes of this package's diagnostics. E002 and E003 are shared with internal/md. E0xx rejects
// a file; W0xx says what tercet did with it.
const (
	codeTooLarge = "E002"
	codeNotText  = "E003"
	codeTOML     = "E030"
	codeNoPrompt = "E031"
	codeEmpty    = "E032"
	codeAlmost   = "W042" // CodeAlmost of commands

	warnLenient  = "W030"
	warnKey      = CodeKey
	warnUnclosed = "W032"
	warnTwice    = "W033"
	warnMark     = "W034"
	warnVariable = "W035"
	warnName     = CodeName
	warnMissing  = "W037"
	warnValue    = "W038"
	warnBytes    = "W039"
)

// CodeKey warns about a key without meaning.
const CodeKey = "W031"

// CodeName warns that a command or an agent has another name than its file.
const CodeName = "W036"

// CodeTaken is the caller's warning that an agent file is unused: its name is taken, or it is
// disabled.
const CodeTaken = "W041"

// MaxBytes bounds a file, in bytes.
const MaxBytes = 256 << 10

// notes collects the diagnostics of one file.
type notes struct {
	file           string
	list           []formats.Diagnostic
	count          map[string]int
	movedPositions bool // positions in the parsed text differ from those in the file
}

// maxSimilar bounds the findings of one kind in a file; a last one says that there are more.
const maxSimilar = 20

func (n *notes) add(code string, at formats.Pos, help, message string) {
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[code]++
	switch {
	case n.count[code] == maxSimilar:
		message += "; more of the same kind are not listed"
	case n.count[code] > maxSimilar:
		return
	}

	d := formats.Found(code, at, help, "%s", message)
	d.File = n.file
	n.list = append(n.list, d)
}

// asError returns the findings as an error.
func (n *notes) asError(src []byte) *formats.Diagnostics {
	d := &formats.Diagnostics{List: n.list, Sources: map[string][]byte{n.file: src}}
	d.Sort()
	return d
}

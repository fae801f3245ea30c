package proc

import "os"

// Foreground is a program that a person calls at the terminal, such as an editor. It has the terminal until it ends:
// its process group gets the keys and the signals of the keys. Who may start is not asked: the person's own environment
// names it, and nothing of a project.
type Foreground struct {
	Argv  []string // a program without a slash is looked up on PATH, whose relative entries are skipped
	Dir   string   // working folder, absolute
	Env   []string // KEY=VALUE, all of its environment
	Stdin []byte   // nil: the terminal
	In    *os.File // the terminal, for reading
	Out   *os.File // the terminal, for writing
	// Stopped is called when the program was stopped, as by Ctrl-Z, with the terminal taken back. When it returns, the
	// program goes on.
	Stopped func()
}

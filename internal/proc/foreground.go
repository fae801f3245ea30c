package proc

import "os"

// Foreground is an interactive program, such as the user's editor. It has the terminal until it
// ends: its process group gets keys and signals. It bypasses Starter.Allow, because the user's own
// environment names it and never a project.
type Foreground struct {
	Argv  []string // a program without a slash is looked up on PATH, without its relative entries
	Dir   string   // working folder, absolute
	Env   []string // KEY=VALUE, the complete environment
	Stdin []byte   // nil: the terminal
	In    *os.File // the terminal, for reading
	Out   *os.File // the terminal, for writing
	// Stopped runs when the program was stopped, as by Ctrl-Z, and this process has the terminal
	// again. When it returns, the program continues.
	Stopped func()
}

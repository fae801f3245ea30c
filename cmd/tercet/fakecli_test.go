package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// agentCLIs are the programs that a script must never start by accident.
func agentCLIs() []string {
	return []string{"claude", "codex", "opencode", "gemini", "copilot"}
}

// withoutAgents takes the folders with agent CLIs off a PATH.
func withoutAgents(path string) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return slices.ContainsFunc(agentCLIs(), func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		})
	}), string(filepath.ListSeparator))
}

// fakeCLI is an agent CLI that does what the file NAME.cli of the project root says, where NAME is
// its first argument: the verbs of fakeagent, and
//
//	argv FILE      write the arguments to FILE of the project root, one a line
//	prompt FILE    write the prompt to FILE of the project root
//	environ FILE   write the environment to FILE of the project root
//	event JSON     print JSON, with NONCE in it replaced by that of the prompt
func fakeCLI() {
	code, err := playCLI(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakecli:", err)
		os.Exit(99)
	}
	os.Exit(code)
}

func playCLI(name string, args []string) (int, error) {
	if slices.Equal(args, []string{"--version"}) {
		_, err := fmt.Println("9.8.7 (fake " + name + ")")
		return 0, err
	}

	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}

	req := fakeRequest{
		Dir:        dir,
		Out:        os.Getenv("TERCET_OUT"),
		ReturnPath: os.Getenv("TERCET_RETURN"),
		raw:        prompt,
	}
	if strings.Contains(string(prompt), "# Repair") ||
		strings.Contains(string(prompt), "was not accepted") {
		req.Repair = []string{"yes"}
	}
	root := os.Getenv("TERCET_ROOT")
	script, err := os.ReadFile(filepath.Join(root, name+".cli"))
	if err != nil {
		return 0, err
	}

	nonce := ""
	if _, rest, ok := strings.Cut(string(prompt), `"nonce": "`); ok {
		nonce, _, _ = strings.Cut(rest, `"`)
	}
	for line := range strings.SplitSeq(string(script), "\n") {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		keep := func(text string) error {
			return os.WriteFile(filepath.Join(root, rest), []byte(text), 0o644)
		}
		switch verb {
		case "argv":
			err = keep(strings.Join(args, "\n") + "\n")
		case "prompt":
			err = keep(string(prompt))
		case "environ":
			err = keep(strings.Join(os.Environ(), "\n") + "\n")
		case "event":
			_, err = fmt.Println(strings.ReplaceAll(rest, "NONCE", nonce))
		default:
			code, ended, perr := playLine(line, root, req)
			if perr != nil || ended {
				return code, perr
			}
		}
		if err != nil {
			return 0, err
		}
	}

	return 0, nil
}

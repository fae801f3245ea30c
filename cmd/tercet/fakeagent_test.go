package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// fakeAgent is the program behind `runner: exec` in the scripts. It reads the request from standard input and does what the
// file $FAKE_AGENT_SCRIPT, or its first argument, says, a line each:
//
//	file NAME TEXT...   write NAME into the folder for documents
//	tree NAME TEXT...   write NAME into the tree that is worked on
//	return JSON         write the return into return_path
//	print TEXT          print on standard output
//	sleep SECONDS       wait
//	exit N              end
//	count FILE          add a line to FILE (a path of the project root)
//	fail-first N        end with a transient failure for the first N calls, counted in the file .calls of the project root
func fakeAgent() {
	code, err := playAgent(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		os.Exit(99)
	}
	os.Exit(code)
}

type fakeRequest struct {
	Dir        string `json:"dir"`
	Out        string `json:"out"`
	ReturnPath string `json:"return_path"`
}

func playAgent(args []string) (int, error) {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}
	var req fakeRequest
	if err := json.Unmarshal(data, &req); err != nil {
		return 0, fmt.Errorf("request: %w", err)
	}
	root := os.Getenv("TERCET_ROOT")
	script, err := os.ReadFile(filepath.Join(root, args[0]))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(script), "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, text, _ := strings.Cut(rest, " ")
		text = strings.ReplaceAll(text, `\n`, "\n")
		switch verb {
		case "":
		case "file":
			err = os.WriteFile(filepath.Join(req.Out, name), []byte(text), 0o644)
		case "tree":
			err = os.WriteFile(filepath.Join(req.Dir, name), []byte(text), 0o644)
		case "return":
			err = os.WriteFile(req.ReturnPath, []byte(rest), 0o600)
		case "print":
			fmt.Println(rest)
		case "sleep":
			d, perr := time.ParseDuration(rest + "s")
			time.Sleep(d)
			err = perr
		case "exit":
			var n int
			_, err = fmt.Sscan(rest, &n)
			return n, err
		case "count":
			err = appendLine(filepath.Join(root, rest))
		case "fail-first":
			var most int
			if _, err = fmt.Sscan(rest, &most); err != nil {
				return 0, err
			}
			calls := filepath.Join(root, ".calls")
			if err = appendLine(calls); err != nil {
				return 0, err
			}
			seen, rerr := os.ReadFile(calls)
			if rerr != nil {
				return 0, rerr
			}
			if strings.Count(string(seen), "\n") <= most {
				return 0, os.WriteFile(req.ReturnPath, []byte(`{"status":"failed","summary":"busy","errors":[{"type":"execution","code":"TRANSIENT","message":"429 too many requests","recoverable":true}]}`), 0o600)
			}
		default:
			return 0, fmt.Errorf("unknown verb %q", verb)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func appendLine(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("call\n"); err != nil {
		return err
	}
	return f.Close()
}

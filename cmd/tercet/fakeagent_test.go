package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fakeAgent is the program behind `runner: exec` in the scripts. It reads the request from standard
// input and does what the file $FAKE_AGENT_SCRIPT, or its first argument, says, a line each:
//
//	file NAME TEXT...   write NAME into the folder for documents
//	copy NAME FILE      copy FILE of the project root into the folder for documents
//	link NAME TARGET    make a symbolic link in the folder for documents
//	tree NAME TEXT...   write NAME into the tree that is worked on
//	untree NAME         remove NAME from the tree that is worked on
//	request FILE        write the request to FILE of the project root
//	return JSON         write the return into return_path
//	print TEXT          print on standard output
//	stderr TEXT         print on standard error
//	flood MIB           print that many MiB on standard output
//	sleep SECONDS       wait
//	await FILE          wait until FILE is in the project root
//	exit N              end
//	count FILE          add a line to FILE (a path of the project root)
//	repair WORDS...     do WORDS only in the repair round
//	first WORDS...      do WORDS only before it
//	again WORDS...      do WORDS only when a later step sent the work back
//	fresh WORDS...      do WORDS only before that
//	answered WORDS...   do WORDS only when a question was answered
//	unanswered WORDS... do WORDS only when work was sent back and no question answered
//	fail-first N        fail for the first N calls, counted in .calls of the project root
func fakeAgent() {
	code, err := playAgent(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		os.Exit(99)
	}
	os.Exit(code)
}

type fakeRequest struct {
	Dir        string   `json:"dir"`
	Out        string   `json:"out"`
	ReturnPath string   `json:"return_path"`
	Repair     []string `json:"repair"`
	Feedback   *struct {
		Answer string `json:"answer"`
	} `json:"feedback"`
	raw []byte
}

func playAgent(args []string) (int, error) {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}

	req := fakeRequest{raw: data}
	if err := json.Unmarshal(data, &req); err != nil {
		return 0, fmt.Errorf("request: %w", err)
	}

	root := os.Getenv("TERCET_ROOT")
	script, err := os.ReadFile(filepath.Join(root, args[0]))
	if err != nil {
		return 0, err
	}

	for line := range strings.SplitSeq(string(script), "\n") {
		code, ended, err := playLine(strings.TrimSpace(line), root, req)
		if err != nil || ended {
			return code, err
		}
	}

	return 0, nil
}

// playLine does one line; ended says that the program is to end with code.
func playLine(line, root string, req fakeRequest) (code int, ended bool, err error) {
	verb, rest, _ := strings.Cut(line, " ")
	name, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "":
	case "repair", "first":
		if (verb == "repair") == (len(req.Repair) > 0) {
			return playLine(rest, root, req)
		}
	case "again", "fresh":
		if (verb == "again") == (req.Feedback != nil) {
			return playLine(rest, root, req)
		}
	case "answered", "unanswered":
		if req.Feedback != nil && (verb == "answered") == (req.Feedback.Answer != "") {
			return playLine(rest, root, req)
		}
	case "file":
		at := filepath.Join(req.Out, name)
		err = errors.Join(
			os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(strings.ReplaceAll(text, `\n`, "\n")), 0o644),
		)
	case "tree":
		err = os.WriteFile(
			filepath.Join(req.Dir, name),
			[]byte(strings.ReplaceAll(text, `\n`, "\n")),
			0o644,
		)
	case "untree":
		err = os.Remove(filepath.Join(req.Dir, name))
	case "copy":
		var data []byte
		data, err = os.ReadFile(filepath.Join(root, text))
		if err == nil {
			err = os.WriteFile(filepath.Join(req.Out, name), data, 0o644)
		}
	case "link":
		err = os.Remove(filepath.Join(req.Out, name))
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Symlink(text, filepath.Join(req.Out, name))
		}
	case "request":
		err = writeWhole(filepath.Join(root, rest), req.raw)
	case "return":
		err = os.WriteFile(req.ReturnPath, []byte(rest), 0o600)
	case "print":
		fmt.Println(rest)
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
	case "flood":
		var n int
		if _, err = fmt.Sscan(rest, &n); err == nil {
			err = flood(n)
		}
	case "sleep":
		d, perr := time.ParseDuration(rest + "s")
		time.Sleep(d)
		err = perr
	case "await":
		for _, err := os.Stat(filepath.Join(root, rest)); err != nil; _, err = os.Stat(
			filepath.Join(root, rest),
		) {
			time.Sleep(10 * time.Millisecond)
		}
	case "exit":
		_, err = fmt.Sscan(rest, &code)
		ended = true
	case "count":
		err = appendLine(filepath.Join(root, rest))
	case "fail-first":
		ended, err = failFirst(rest, root, req)
	default:
		err = fmt.Errorf("unknown verb %q", verb)
	}

	return code, ended, err
}

// writeWhole writes a file that another agent, beside this one, may write as well.
func writeWhole(path string, data []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), "part")
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	if err := errors.Join(err, part.Close()); err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// flood prints lines of 64 KiB.
func flood(mib int) error {
	line := append(bytes.Repeat([]byte("x"), 64<<10-1), '\n')
	for range mib << 4 {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// failFirst returns a transient failure for the first calls.
func failFirst(most, root string, req fakeRequest) (failed bool, err error) {
	n, err := strconv.Atoi(most)
	if err != nil {
		return false, err
	}

	calls := filepath.Join(root, ".calls")
	if err := appendLine(calls); err != nil {
		return false, err
	}

	seen, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(seen), "\n") > n {
		return false, err
	}

	return true, os.WriteFile(
		req.ReturnPath,
		[]byte(
			`{"status":"failed","summary":"busy",`+
				`"errors":[{"type":"execution","code":"TRANSIENT",`+
				`"message":"429 too many requests","recoverable":true}]}`,
		),
		0o600,
	)
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

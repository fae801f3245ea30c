package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fakeACP is an agent that speaks the Agent Client Protocol. In its turn it does what the file that
// is its first argument says: the verbs of fakeagent, and
//
//	prompt FILE         write the prompt to FILE of the project root
//	say TEXT            a part of its message; NONCE is that of the prompt, \n a line break
//	used IN OUT COST    what it says it used
//	ask KIND NAME TEXT  ask leave for a tool of the kind on NAME of the tree; if given, write TEXT
//	error CODE TEXT     answer the prompt with an error
//	hang                wait for the end of its input
func fakeACP() {
	a := &acpPlayer{
		in:    bufio.NewScanner(os.Stdin),
		root:  os.Getenv("TERCET_ROOT"),
		usage: "null",
	}
	a.in.Buffer(nil, 8<<20)

	code, err := a.play(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakeacp:", err)
		os.Exit(99)
	}
	os.Exit(code)
}

type acpPlayer struct {
	in    *bufio.Scanner
	root  string
	usage string
	ended bool // the prompt was answered with an error
}

// acpCall is a request or an answer.
type acpCall struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Cwd    string `json:"cwd"`
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	} `json:"params"`
	Result struct {
		Outcome struct {
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	} `json:"result"`
}

func (a *acpPlayer) hear() (acpCall, bool, error) {
	var c acpCall
	if !a.in.Scan() {
		return c, false, a.in.Err()
	}
	return c, true, json.Unmarshal(a.in.Bytes(), &c)
}

func (a *acpPlayer) send(member string, id json.RawMessage, value string) error {
	_, err := fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,%q:%s}\n", id, member, value)
	return err
}

func (a *acpPlayer) play(script string) (int, error) {
	dir := ""
	for {
		c, ok, err := a.hear()
		if err != nil || !ok {
			return 0, err
		}
		switch c.Method {
		case "initialize":
			err = a.send(
				"result",
				c.ID,
				`{"protocolVersion":1,"agentCapabilities":{},`+
					`"agentInfo":{"name":"fakeacp","version":"1.2.3"}}`,
			)
		case "session/new":
			dir = c.Params.Cwd
			models := `,"models":{"availableModels":[],"currentModelId":"m-acp"}`
			text, _ := os.ReadFile(filepath.Join(a.root, script))
			if strings.HasPrefix(string(text), "modelless\n") {
				models = ""
			}
			err = a.send("result", c.ID, `{"sessionId":"s1"`+models+`}`)
		case "session/set_model":
			err = errors.Join(
				os.WriteFile(filepath.Join(a.root, "model.txt"), a.in.Bytes(), 0o644),
				a.send("result", c.ID, `{}`),
			)
		case "session/prompt":
			code, ended, perr := a.turn(script, dir, c)
			if perr != nil || ended {
				return code, perr
			}
			if !a.ended {
				err = a.send("result", c.ID, `{"stopReason":"end_turn","usage":`+a.usage+`}`)
			}
		}
		if err != nil {
			return 0, err
		}
	}
}

func (a *acpPlayer) turn(script, dir string, c acpCall) (code int, ended bool, err error) {
	prompt := c.Params.Prompt[0].Text
	req := fakeRequest{
		Dir:        dir,
		Out:        os.Getenv("TERCET_OUT"),
		ReturnPath: os.Getenv("TERCET_RETURN"),
		raw:        []byte(prompt),
	}
	if strings.Contains(prompt, "# Repair") || strings.Contains(prompt, "was not accepted") {
		req.Repair = []string{"yes"}
	}
	_, rest, _ := strings.Cut(prompt, `"nonce": "`)
	nonce, _, _ := strings.Cut(rest, `"`)
	text, err := os.ReadFile(filepath.Join(a.root, script))
	if err != nil {
		return 0, false, err
	}

	for line := range strings.SplitSeq(string(text), "\n") {
		line = strings.TrimSpace(line)
		if verb, rest, _ := strings.Cut(line, " "); verb == "first" || verb == "repair" {
			if (verb == "repair") != (len(req.Repair) > 0) {
				continue
			}
			line = rest
		}

		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "modelless": // its sessions have no choice of models
		case "prompt":
			err = os.WriteFile(filepath.Join(a.root, rest), []byte(prompt), 0o644)
		case "say":
			err = a.say(strings.NewReplacer("NONCE", nonce, `\n`, "\n").Replace(rest))
		case "used":
			var in, out int
			var cost float64
			if _, err = fmt.Sscan(rest, &in, &out, &cost); err == nil {
				a.usage = fmt.Sprintf(`{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d}`,
					in, out, in+out)
				err = a.update(fmt.Sprintf(
					`{"sessionUpdate":"usage_update","size":1,"used":1,`+
						`"cost":{"amount":%g,"currency":"USD"}}`,
					cost,
				))
			}
		case "ask":
			err = a.ask(dir, rest)
		case "error":
			number, text, _ := strings.Cut(rest, " ")
			a.ended = true
			err = a.send("error", c.ID, fmt.Sprintf(`{"code":%s,"message":%q}`, number, text))
		case "hang":
			for ok := true; ok && err == nil; {
				_, ok, err = a.hear()
			}
			return 0, true, err
		default:
			code, ended, perr := playLine(line, a.root, req)
			if perr != nil || ended {
				return code, ended, perr
			}
		}
		if err != nil {
			return 0, false, err
		}
	}

	return 0, false, nil
}

func (a *acpPlayer) update(update string) error {
	_, err := fmt.Printf(
		"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\","+
			"\"params\":{\"sessionId\":\"s1\",\"update\":%s}}\n",
		update,
	)
	return err
}

func (a *acpPlayer) say(text string) error {
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	return a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` +
		string(quoted) + `}}`)
}

// ask asks for leave, and does what it asked for if it has it.
func (a *acpPlayer) ask(dir, rest string) error {
	words := strings.SplitN(rest, " ", 3)
	name := filepath.Join(dir, words[1])

	if _, err := fmt.Printf(
		`{"jsonrpc":"2.0","id":9,"method":"session/request_permission",`+
			`"params":{"sessionId":"s1",`+
			`"toolCall":{"toolCallId":"t","kind":%q,"locations":[{"path":%q}]},`+
			`"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},`+
			`{"optionId":"no","name":"No","kind":"reject_once"}]}}`+
			"\n",
		words[0],
		name,
	); err != nil {
		return err
	}

	answer, _, err := a.hear()
	if err != nil || answer.Result.Outcome.OptionID != "yes" {
		return err
	}

	return os.WriteFile(name, []byte(words[2]+"\n"), 0o644)
}

package team

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"tercet/formats"
	"tercet/project"
)

// wireCall is a call of a project.Home as one line of JSON. One member is set.
type wireCall struct {
	Append  *formats.SharedLines `json:"append,omitempty"`
	History *wireTake            `json:"history,omitempty"`
	Do      *formats.HomeRequest `json:"do,omitempty"`
}

type wireTake struct {
	Run   string `json:"run"`
	Taker string `json:"taker"`
}

// wireAnswer is the answer to a wireCall.
type wireAnswer struct {
	Error   *wireError          `json:"error,omitempty"`
	History *formats.RunHistory `json:"history,omitempty"`
	Reply   *formats.HomeReply  `json:"reply,omitempty"`
}

// wireError is an error with what a run decides by.
type wireError struct {
	Code    formats.Code `json:"code"`
	Message string       `json:"message"`
	Help    string       `json:"help,omitempty"`
	Later   bool         `json:"later,omitempty"` // the run waits, until a time if there is one
	Until   time.Time    `json:"until,omitzero"`
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	if later, ok := errors.AsType[*formats.LaterError](err); ok {
		return &wireError{Message: later.Why, Later: true, Until: later.Until}
	}
	return &wireError{
		Code:    formats.CodeOf(err),
		Message: err.Error(),
		Help:    formats.HelpOf(err),
	}
}

func (e *wireError) err() error {
	switch {
	case e == nil:
		return nil
	case e.Later:
		return &formats.LaterError{Why: e.Message, Until: e.Until}
	}
	return formats.Fail(e.Code, e.Help, "%s", e.Message)
}

// RunOf is the run that a call is about.
func RunOf(call []byte) (string, error) {
	c, err := readCall(call)
	switch {
	case err != nil:
		return "", err
	case c.Append != nil:
		return c.Append.Run, nil
	case c.History != nil:
		return c.History.Run, nil
	}
	return c.Do.Run, nil
}

func readCall(data []byte) (c wireCall, err error) {
	const help = "let both machines have the same version of tercet"
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, formats.Broken(formats.CodeUsage, "the call", err, help)
	}

	set := 0
	for _, is := range []bool{c.Append != nil, c.History != nil, c.Do != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return c, formats.Fail(formats.CodeUsage, help,
			"expected one of append, history and do in a call, got %d", set)
	}
	return c, nil
}

// Handle answers a call of a Client.
func Handle(ctx context.Context, h project.Home, call []byte) []byte {
	var a wireAnswer
	c, err := readCall(call)
	switch {
	case err != nil:
	case c.Append != nil:
		err = h.Append(ctx, *c.Append)
	case c.History != nil:
		var history formats.RunHistory
		history, err = h.History(ctx, c.History.Run, c.History.Taker)
		if err == nil {
			a.History = &history
		}
	default:
		var reply formats.HomeReply
		reply, err = h.Do(ctx, *c.Do)
		if err == nil {
			a.Reply = &reply
		}
	}

	a.Error = toWire(err)
	data, err := json.Marshal(a)
	if err != nil {
		return Refusal(formats.Broken(formats.CodeBug, "the answer", err))
	}
	return data
}

// Refusal is the answer to a call that has an error.
func Refusal(err error) []byte {
	data, err := json.Marshal(wireAnswer{Error: toWire(err)})
	if err != nil {
		return []byte(`{"error":{"code":"INTERNAL","message":"the error cannot be written"}}`)
	}
	return data
}

// Client is a home on the other side of a connection. Its calls are NOT_DURABLE once the connection
// fails.
type Client struct {
	// Call sends a call and waits for its answer.
	Call func(ctx context.Context, call []byte) (answer []byte, err error)
}

var _ project.Home = (*Client)(nil)

func (c *Client) ask(ctx context.Context, call wireCall) (a wireAnswer, err error) {
	data, err := json.Marshal(call)
	if err != nil {
		return a, formats.Broken(formats.CodeBug, "the call", err)
	}

	answer, err := c.Call(ctx, data)
	if err == nil {
		err = json.Unmarshal(answer, &a)
	}
	if err != nil {
		return a, formats.Broken(formats.CodeNotDurable, "the home of the team", err,
			"the run goes on, here or on another machine, once the home answers")
	}
	return a, a.Error.err()
}

// Append makes lines durable at the home.
func (c *Client) Append(ctx context.Context, l formats.SharedLines) error {
	_, err := c.ask(ctx, wireCall{Append: &l})
	return err
}

// History takes a run.
func (c *Client) History(ctx context.Context, run, taker string) (formats.RunHistory, error) {
	a, err := c.ask(ctx, wireCall{History: &wireTake{Run: run, Taker: taker}})
	if err == nil && a.History == nil {
		err = formats.Fail(formats.CodeNotDurable, "", "the home of the team answered nothing")
	}
	if err != nil {
		return formats.RunHistory{}, err
	}
	return *a.History, nil
}

// Do has an effect at the home.
func (c *Client) Do(ctx context.Context, r formats.HomeRequest) (formats.HomeReply, error) {
	a, err := c.ask(ctx, wireCall{Do: &r})
	if err == nil && a.Reply == nil {
		err = formats.Fail(formats.CodeNotDurable, "", "the home of the team answered nothing")
	}
	if err != nil {
		return formats.HomeReply{}, err
	}
	return *a.Reply, nil
}

// maxCall bounds a call and its answer, in bytes.
const maxCall = 256 << 20

// NewStreamClient is a Client over a stream to its worker, one line each way.
func NewStreamClient(stream io.ReadWriter) *Client {
	var mu sync.Mutex
	in := bufio.NewReader(stream)
	return &Client{Call: func(_ context.Context, call []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(call) > maxCall {
			return nil, formats.Fail(formats.CodeLimit, "",
				"expected a call of at most %d bytes, got %d", maxCall, len(call))
		}
		if _, err := stream.Write(append(call, '\n')); err != nil {
			return nil, err
		}
		return in.ReadBytes('\n')
	}}
}

// Relay passes the calls of a run to where they are answered, until its stream ends.
func Relay(stream io.ReadWriter, answer func(call []byte) []byte) error {
	in := bufio.NewReader(stream)
	for {
		call, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply := answer(bytes.TrimSuffix(call, []byte("\n")))
		if _, err := stream.Write(append(reply, '\n')); err != nil {
			return err
		}
	}
}

package proc

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// order asks a supervisor for a child.
type order struct {
	Path             string
	Argv, Env, After []string
	Rules            []byte // as in Launch
	Dir              string
	Streams          [3]string // what input, output and error output are opened from
}

// news comes back twice: when the program runs, and when nothing is left of it. Why says that it
// does not run.
type news struct {
	Why    string
	Exit   int
	Signal string

	Evicted bool // it was ended because it held a lock
}

// helper is a supervisor that has started. It has one child at a time.
type helper struct {
	Proc // it leads the session of its children

	cmd  *exec.Cmd
	life io.Closer // whose end ends the supervisor and everything below it
	out  *gob.Encoder
	in   *gob.Decoder
	well bool // its last child is gone, with all that it started
}

// hire gives an idle supervisor, or starts one.
func (s *Starter) hire() (*helper, error) {
	select {
	case h := <-s.idle:
		if Alive(h.Proc) {
			return h, nil
		}
		h.end()
	default:
	}

	h := &helper{cmd: &exec.Cmd{
		Path: s.Supervisor[0],
		Args: s.Supervisor,
		Env:  []string{},
	}}
	orders, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	h.life = orders
	h.out = gob.NewEncoder(orders)
	told, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	h.in = gob.NewDecoder(told)
	if err := launch(h.cmd); err != nil {
		return nil, err
	}
	if h.Proc, err = Facts(h.cmd.Process.Pid); err != nil {
		h.end()
	}
	return h, err
}

// start has the child started, and returns when it runs. A stream that is nil is empty.
func (h *helper) start(o order, streams ...*os.File) error {
	h.well = false
	for i, f := range streams {
		o.Streams[i] = os.DevNull
		if f != nil {
			o.Streams[i] = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
		}
	}
	var n news
	if err := errors.Join(h.out.Encode(o), h.in.Decode(&n)); err != nil {
		return err
	}
	if n.Why != "" {
		return errors.New(n.Why)
	}
	return nil
}

// wait tells how the child ended, once nothing is left of it. A supervisor that was killed cannot
// tell.
func (h *helper) wait() news {
	var n news
	h.well = h.in.Decode(&n) == nil
	if !h.well {
		return news{Exit: -1, Signal: "SIGKILL"}
	}
	return n
}

// dismiss has the supervisor kill the child with all that it started, tell of it, and end.
func (h *helper) dismiss() {
	ignore(h.life.Close())
} // it is gone if it cannot be told

// end ends the supervisor.
func (h *helper) end() {
	h.dismiss()
	kill(h.cmd)
	reap(h.cmd)
}

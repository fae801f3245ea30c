package proc

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// startRequest asks a supervisor to start a child.
type startRequest struct {
	Path             string
	Argv, Env, After []string
	Rules            []byte // as in Launch
	Status           bool   // as in Launch
	Dir              string
	Streams          [3]string // files to open as input, output and error output
}

// childReport is sent twice: when the program runs, and when nothing is left of it. Why is the
// reason that it did not start.
type childReport struct {
	Why    string
	Exit   int
	Signal string

	Evicted bool // ended because it held a lock
	Unbuilt bool // the sandbox could not be made, so the program never ran
}

// supervisorClient is a running supervisor. It has one child at a time.
type supervisorClient struct {
	Proc // it leads the session of its children

	cmd     *exec.Cmd
	control io.Closer // closing it ends the supervisor and all descendants
	out     *gob.Encoder
	in      *gob.Decoder
	clean   bool // its last child and all descendants are gone
}

// acquireSupervisor returns an idle supervisor, or starts one.
func (s *Starter) acquireSupervisor() (*supervisorClient, error) {
	select {
	case h := <-s.idle:
		if IsAlive(h.Proc) {
			return h, nil
		}
		h.kill()
	default:
	}

	h := &supervisorClient{cmd: &exec.Cmd{
		Path: s.Supervisor[0],
		Args: s.Supervisor,
		Env:  []string{},
	}}
	requests, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}

	h.control = requests
	h.out = gob.NewEncoder(requests)
	reports, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}

	h.in = gob.NewDecoder(reports)
	if err := launch(h.cmd); err != nil {
		return nil, err
	}
	h.Proc, err = Identify(h.cmd.Process.Pid)
	if err != nil {
		h.kill()
	}
	return h, err
}

// start asks for the child and returns when it runs. A nil stream is empty.
func (h *supervisorClient) start(o startRequest, streams ...*os.File) error {
	h.clean = false
	for i, f := range streams {
		o.Streams[i] = os.DevNull
		if f != nil {
			o.Streams[i] = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
		}
	}

	var report childReport
	if err := errors.Join(h.out.Encode(o), h.in.Decode(&report)); err != nil {
		return err
	}
	if report.Why != "" {
		return errors.New(report.Why)
	}
	return nil
}

// wait returns how the child ended, once all descendants are gone. If the supervisor was killed,
// the child counts as killed.
func (h *supervisorClient) wait() childReport {
	var report childReport
	h.clean = h.in.Decode(&report) == nil
	if !h.clean {
		return childReport{Exit: -1, Signal: "SIGKILL"}
	}
	return report
}

// requestEnd tells the supervisor to kill the child and all descendants, report that, and exit.
func (h *supervisorClient) requestEnd() {
	ignore(h.control.Close()) // on an error the supervisor is gone already
}

// kill ends the supervisor.
func (h *supervisorClient) kill() {
	h.requestEnd()
	kill(h.cmd)
	reap(h.cmd)
}

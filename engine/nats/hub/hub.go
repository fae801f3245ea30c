// Package hub is the home of a team over NATS: an embedded server that only members of the team
// reach, each for what its role may do, a queue in its JetStream, and the services of the home.
//
// The journals at the home are what counts. The queue is made anew from them when the hub starts.
package hub

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/config"
	"tercet/internal/journal"
	"tercet/project"
	"tercet/team"
)

// Config is what a hub is started with.
type Config struct {
	Project   *project.Project
	Version   string
	Listen    string // HOST:PORT
	Folder    string // of its own, outside of the project
	Program   string // tercet
	DeadAfter time.Duration
	Limits    config.TeamLimits
	Publish   string // config.PublishRequest; empty: the home merges
	Tell      func(format string, args ...any)
}

// Hub is a running hub.
type Hub struct {
	cfg    Config
	keeper *team.Keeper
	server *server.Server
	conn   *nats.Conn
	jobs   *queue

	members     *members
	objects     *objects
	fingerprint [sha256.Size]byte // of the certificate

	mu       sync.Mutex
	assigned map[string]*assignment // by the id of the job
	queued   map[string]bool        // by run
	// settling are runs whose attempt has ended, until it is decided what becomes of them
	settling map[string]bool
	ends     map[string]runEnd // by run
	stuck    map[string]string
	failures map[string]int  // attempts in a row that did not get on
	slots    map[string]slot // by name
}

// assignment is a job that a worker has.
type assignment struct {
	lease  team.Lease
	worker string // the member
	slot   string // which of its slots
	done   int    // what the run had behind it when it was taken
	// reopened means that the run has ended since, and that somebody lets it go on.
	reopened bool
}

// Start starts a hub.
func Start(ctx context.Context, cfg Config) (*Hub, error) {
	h := &Hub{
		cfg:      cfg,
		assigned: map[string]*assignment{},
		queued:   map[string]bool{},

		settling: map[string]bool{},
		ends:     map[string]runEnd{},
		stuck:    map[string]string{},
		failures: map[string]int{},
		slots:    map[string]slot{},
	}

	var err error
	h.keeper, err = team.NewKeeper(cfg.Project, team.Options{
		Limits:  cfg.Limits,
		Publish: cfg.Publish,
	})
	if err != nil {
		return nil, err
	}

	unfinished := h.keeper.Unfinished() // which also locks them
	err = h.listen()
	if err == nil {
		h.jobs, err = newQueue(ctx, h.conn, cfg.DeadAfter)
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}

	for _, j := range unfinished {
		if _, waits := h.waitReason(j.Run); !waits && h.keeper.OrderOf(j.Run) != team.Pause {
			if err := h.submit(ctx, j); err != nil {
				return nil, errors.Join(err, h.Close())
			}
		}
	}

	h.tellVersions(unfinished)
	if err := h.serve(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// tellVersions says which runs wait for a worker with the version with which they began.
func (h *Hub) tellVersions(unfinished []team.Job) {
	counts := map[string]int{}
	for _, j := range unfinished {
		if j.Version != h.cfg.Version && h.keeper.Lines(j.Run) > 0 {
			counts[j.Version]++
		}
	}
	for _, version := range slices.Sorted(maps.Keys(counts)) {
		verb := "wait"
		if counts[version] == 1 {
			verb = "waits"
		}
		h.cfg.Tell("%s began with %s, and %s for a worker with it or with %s",
			formats.Count(counts[version], "run"), version, verb, h.cfg.Version)
	}
}

// listen starts the server and connects to it.
func (h *Hub) listen() error {
	id, err := loadIdentity(h.cfg.Folder)
	if err != nil {
		return err
	}
	h.fingerprint = id.fingerprint()

	host, port, err := hostPort(h.cfg.Listen)
	if err != nil {
		return err
	}
	// the queue is made anew from the journals, and objects belong to jobs of the hub that made
	// them
	if err := os.RemoveAll(h.cfg.Folder + "/jetstream"); err != nil {
		return formats.OnFile("remove", h.cfg.Folder+"/jetstream", err)
	}

	own := rand.Text()
	h.members, err = readMembers(h.cfg.Folder, own)
	if err != nil {
		return err
	}

	h.server, err = server.NewServer(&server.Options{
		ServerName: "tercet-hub",
		Host:       host,
		Port:       port,
		JetStream:  true,
		StoreDir:   h.cfg.Folder + "/jetstream",
		SyncAlways: true,
		NoSigs:     true,
		NoLog:      true,
		MaxPayload: link.MaxPayload,
		MaxPending: 4 * link.MaxPayload,
		TLS:        true,
		TLSConfig:  id.tls(),
		TLSTimeout: 10,

		AlwaysEnableNonce:          true,
		CustomClientAuthentication: h.members,
	})
	if err != nil {
		return formats.Broken(formats.CodeIO, "the hub", err)
	}

	h.objects = &objects{server: h.server, password: own, homes: map[string]*objectHome{}}
	h.members.server = h.server
	h.members.objects = h.objectAccount
	h.members.alive = func(id uint64) bool { return h.server.GetClient(id) != nil }

	go h.server.Start()
	if !h.server.ReadyForConnections(30 * time.Second) {
		return formats.Fail(formats.CodeIO, "let the hub listen elsewhere: --listen HOST:PORT",
			"the hub cannot listen at %s", h.cfg.Listen)
	}

	h.conn, err = nats.Connect("", nats.InProcessServer(h.server), nats.UserInfo(hubUser, own))
	if err != nil {
		return formats.Broken(formats.CodeIO, "the hub", err)
	}
	return nil
}

// Address is where the hub listens.
func (h *Hub) Address() string { return h.server.Addr().String() }

// request is what a member asked of a service. from is the member: the server lets nobody publish
// under the name of another one.
type request struct {
	from   string
	data   []byte
	job    string
	object string // name of the data, which is then empty
}

// serve answers until the hub is closed.
func (h *Hub) serve(ctx context.Context) error {
	services := map[string]func(q request) any{
		link.Take:   func(q request) any { return h.takeJob(ctx, q) },
		link.Beat:   func(q request) any { return h.heartbeat(q) },
		link.Done:   func(q request) any { return h.finishJob(ctx, q) },
		link.Call:   func(q request) any { return h.handleCall(ctx, q) },
		link.Store:  func(q request) any { return h.openBucket(ctx, q) },
		link.Submit: func(q request) any { return h.beginLine(ctx, q) },
		link.State:  func(request) any { return h.teamState(ctx) },
		link.Verb:   func(q request) any { return h.runVerb(ctx, q) },
		link.Order:  func(q request) any { return h.orderRun(ctx, q) },
		link.Invite: func(q request) any { return h.invite(q.data) },
		link.Remove: func(q request) any { return h.remove(q.data) },
	}

	for name, service := range services {
		_, err := h.conn.Subscribe(link.Subject("*", name), func(m *nats.Msg) {
			from := strings.Split(m.Subject, ".")[1]
			q := request{
				from:   from,
				data:   m.Data,
				job:    m.Header.Get(link.JobHeader),
				object: m.Header.Get(link.ObjectHeader),
			}
			go func() { h.answer(m, service(q)) }()
		})
		if err != nil {
			return err
		}
	}

	_, err := h.conn.Subscribe(link.JoinService+"*", func(m *nats.Msg) {
		h.answer(m, h.join(m.Subject, m.Data))
	})
	if err != nil {
		return err
	}

	go h.wakeUp(ctx)
	return h.conn.Flush()
}

// answer answers a request.
func (h *Hub) answer(m *nats.Msg, out any) {
	reply, ready := out.(*nats.Msg)
	if !ready {
		data, err := json.Marshal(out)
		if err != nil {
			h.cfg.Tell("%s: %s", m.Subject, err)
			return
		}
		reply = nats.NewMsg("")
		reply.Data = data
	}

	if err := m.RespondMsg(reply); err != nil {
		h.cfg.Tell("%s: %s", m.Subject, err)
	}
}

func fault(err error) *link.Fault { return link.FaultOf(err) }

// submit queues a run unless it is queued or a worker has it.
func (h *Hub) submit(ctx context.Context, j team.Job) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.queued[j.Run] || h.assignmentOf(j.Run) != nil {
		return nil
	}
	if err := h.jobs.Submit(ctx, j); err != nil {
		return formats.Broken(formats.CodeIO, "the queue", err)
	}

	h.queued[j.Run] = true
	delete(h.stuck, j.Run)
	delete(h.failures, j.Run)
	return nil
}

// assignmentOf is what holds a run; nil: no worker. The caller holds h.mu.
func (h *Hub) assignmentOf(run string) *assignment {
	for _, one := range h.assigned {
		if one.lease.Job.Run == run {
			return one
		}
	}
	return nil
}

// assignmentFor is the job with an id, if the member has it; nil: it has not. The caller holds
// h.mu.
func (h *Hub) assignmentFor(member, id string) *assignment {
	if one := h.assigned[id]; one != nil && one.worker == member {
		return one
	}
	return nil
}

// beginLine begins the runs of a line.
func (h *Hub) beginLine(ctx context.Context, q request) link.RunsReply {
	var l link.LineRequest
	if err := json.Unmarshal(q.data, &l); err != nil {
		return link.RunsReply{Fault: fault(err)}
	}

	jobs, err := h.keeper.BeginEach(ctx, l.Text, team.BeginOptions{Yes: l.Yes, Needs: l.Needs})
	var begun link.RunsReply
	for _, j := range jobs {
		begun.Runs = append(begun.Runs, j.Run)
		if _, waits := h.waitReason(j.Run); !waits && err == nil {
			err = h.submit(ctx, j)
		}
	}

	begun.Fault = fault(err)
	return begun
}

// takeJob gives a worker a job, or nothing after some seconds.
func (h *Hub) takeJob(ctx context.Context, q request) link.TakeReply {
	var asked link.TakeRequest
	if err := json.Unmarshal(q.data, &asked); err != nil {
		return link.TakeReply{Fault: fault(err)}
	}

	s, err := h.registerSlot(q.from, asked)
	if err != nil {
		return link.TakeReply{Fault: fault(err)}
	}
	if h.keeper.Writable() != nil {
		select {
		case <-time.After(diskRetryAfter):
		case <-ctx.Done():
		}
		return link.TakeReply{DeadAfter: h.cfg.DeadAfter}
	}

	taken, err := h.takeFitting(ctx, s)
	switch {
	case errors.Is(err, errNoJob):
		return link.TakeReply{DeadAfter: h.cfg.DeadAfter}
	case errors.Is(err, errBehind):
		base, err := h.keeper.Base(ctx)
		if base == asked.Base { // it is there already, and its files are other ones all the same
			base = ""
		}
		return link.TakeReply{Base: base, Fault: fault(err)}
	}
	if err != nil {
		return link.TakeReply{Fault: fault(formats.Broken(formats.CodeTransient, "the queue", err))}
	}

	run := taken.Job.Run
	if over, err := h.keeper.Finished(run); over || err != nil {
		// its worker died before it said so, or it was cancelled
		if err := taken.Done(); err != nil {
			h.cfg.Tell("run %s: %s", run, err)
		}
		h.forget(run)
		h.cfg.Tell("run %s: there is nothing left to do for it", run)
		return link.TakeReply{DeadAfter: h.cfg.DeadAfter}
	}

	id := rand.Text()
	h.mu.Lock()
	defer h.mu.Unlock()
	// it was removed while it waited, or its process died
	if !h.members.has(q.from) || !h.members.isConnected(q.from) {
		h.queued[run] = true
		return link.TakeReply{Fault: fault(taken.Requeue(0))}
	}

	delete(h.queued, run)
	for old, one := range h.assigned { // the earlier worker was silent for too long
		if one.lease.Job.Run == run {
			h.cfg.Tell("run %s: worker %s is silent, %s goes on with it", run, one.slot, s.name)
			delete(h.assigned, old)
			h.dropObjects(one.worker, old)
		}
	}

	h.assigned[id] = &assignment{
		lease:  taken,
		worker: q.from,
		slot:   s.name,
		done:   h.keeper.Done(run),
	}
	h.cfg.Tell("run %s: worker %s has it", run, s.name)
	return link.TakeReply{ID: id, Run: run, Line: taken.Job.Line, DeadAfter: h.cfg.DeadAfter}
}

// diskRetryAfter is how long a worker waits until the disk of the home is tried again.
const diskRetryAfter = time.Second

// errBehind means that a run is queued for which the worker's clone has other files than the home.
var errBehind = errors.New("the clone is behind the home")

// takeFitting takes a job that the worker may have. Jobs that it may not have go back into the
// queue, for others.
func (h *Hub) takeFitting(ctx context.Context, s slot) (team.Lease, error) {
	const away = time.Second // what went back does not come again at once
	end := time.Now().Add(away)
	behind := false
	for time.Now().Before(end) {
		taken, err := h.jobs.Take(ctx, s.name)
		if errors.Is(err, errNoJob) && behind {
			return taken, errBehind
		}
		if err != nil {
			return taken, err
		}

		fit, err := h.keeper.Fit(ctx, taken.Job.Run, s.candidate)
		if fit.Why == "" && (err == nil || formats.CodeOf(err) == formats.CodeNotFound) {
			return taken, nil // a run that is gone is dealt with later
		}
		behind = behind || fit.Behind
		if err := errors.Join(err, taken.Requeue(away)); err != nil {
			return taken, err
		}
	}

	if behind {
		return team.Lease{}, errBehind
	}
	return team.Lease{}, errNoJob
}

// requeue queues the runs of some holders. The caller holds h.mu.
func (h *Hub) requeue(of func(*assignment) bool) error {
	for id, one := range h.assigned {
		if !of(one) {
			continue
		}
		delete(h.assigned, id)
		h.dropObjects(one.worker, id)
		if err := one.lease.Requeue(0); err != nil {
			return formats.Broken(formats.CodeTransient, "the queue", err)
		}
		h.queued[one.lease.Job.Run] = true
	}
	return nil
}

// forget drops what the queue and earlier workers have of a run.
func (h *Hub) forget(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.queued, run)
	maps.DeleteFunc(h.assigned, func(_ string, one *assignment) bool {
		return one.lease.Job.Run == run
	})
}

// heartbeat says that a worker is alive. One that lost its job, or whose run is to be paused or
// cancelled, is told to stop.
func (h *Hub) heartbeat(q request) link.ReportReply {
	var r link.Report
	if json.Unmarshal(q.data, &r) != nil {
		return link.ReportReply{Stop: true}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.assignmentFor(q.from, r.ID)
	if one == nil {
		return link.ReportReply{Stop: true}
	}
	h.noteAlive(one.slot)
	if err := one.lease.Extend(); err != nil {
		h.cfg.Tell("run %s: %s", one.lease.Job.Run, err)
	}

	order := h.keeper.OrderOf(one.lease.Job.Run)
	return link.ReportReply{Stop: order != ""}
}

// maxAttempts bounds the attempts in a row that do not get on.
const maxAttempts = 3

// finishJob ends the work of a worker on a job.
func (h *Hub) finishJob(ctx context.Context, q request) link.ReportReply {
	var r link.Report
	if json.Unmarshal(q.data, &r) != nil {
		return link.ReportReply{}
	}

	h.mu.Lock()
	one := h.assignmentFor(q.from, r.ID)
	if one == nil {
		h.mu.Unlock()
		return link.ReportReply{}
	}

	job := one.lease.Job
	delete(h.assigned, r.ID)
	h.dropObjects(q.from, r.ID)
	h.settling[job.Run] = true
	h.mu.Unlock()

	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.settling, job.Run)
	}()

	over, err := h.keeper.Finished(job.Run)
	if err != nil {
		h.cfg.Tell("run %s: %s", job.Run, err)
	}

	_, waits := h.waitReason(job.Run)
	order := h.keeper.OrderOf(job.Run)
	again := false
	switch {
	case over:
		h.cfg.Tell("run %s: ended with %d", job.Run, r.Code)
	case order == team.Cancel, one.reopened:
		again = true
	case order == team.Pause, waits && r.Code == formats.ExitFor(formats.CodeSuspended):
		h.cfg.Tell("run %s: waits", job.Run)
	default:
		again = h.retry(job.Run, one.done, r)
	}

	err = one.lease.Done()
	if again && err == nil {
		err = h.submitAfter(ctx, job)
	}
	if err != nil {
		h.cfg.Tell("run %s: %s", job.Run, err)
	}
	return link.ReportReply{}
}

// retry tells whether a run that did not end is tried again. While the home cannot write, its
// attempts do not count: none is made until it can.
func (h *Hub) retry(run string, done int, r link.Report) bool {
	if err := h.keeper.Writable(); err != nil {
		h.cfg.Tell("run %s: attempt ended with %d: %s", run, r.Code, err)
		return true
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.keeper.Done(run) > done {
		h.failures[run] = 0
	}
	h.failures[run]++
	h.cfg.Tell("run %s: attempt ended with %d: %s", run, r.Code, r.Said)

	// another attempt would pay its agents again and end alike
	needsPerson := r.Code == formats.ExitFor(formats.CodeLimit) || r.Stopped.NeedsPerson()
	if h.failures[run] < maxAttempts && !needsPerson {
		return true
	}
	h.stuck[run] = fmt.Sprintf("exit %d: %s", r.Code, r.Said)
	return false
}

// submitAfter queues a run again, keeping the count of its attempts.
func (h *Hub) submitAfter(ctx context.Context, j team.Job) error {
	h.mu.Lock()
	n := h.failures[j.Run]
	h.mu.Unlock()

	err := h.submit(ctx, j)
	h.mu.Lock()
	h.failures[j.Run] = n
	h.mu.Unlock()
	return err
}

// handleCall answers a call of a run, if its worker still has the job.
func (h *Hub) handleCall(ctx context.Context, q request) *nats.Msg {
	answer := func(err error) *nats.Msg { return h.newReply(ctx, q, team.Refusal(err)) }

	h.mu.Lock()
	one := h.assignmentFor(q.from, q.job)
	h.mu.Unlock()
	if one == nil {
		return answer(formats.Fail(formats.CodeNotDurable,
			"nothing is to be done: another worker goes on with it", "another worker has the run"))
	}

	data, err := h.callData(ctx, q)
	if err != nil {
		return answer(err)
	}

	run, err := team.RunOf(data)
	if err == nil && one.lease.Job.Run != run {
		err = formats.Fail(formats.CodeNotDurable,
			"nothing is to be done: another worker goes on with it",
			"another worker has run %s", run)
	}
	if err != nil {
		return answer(err)
	}

	reply := team.Handle(ctx, h.keeper, data)
	if err := link.TooLarge("what the home has of run "+run, len(reply)); err != nil {
		return answer(err)
	}
	return h.newReply(ctx, q, reply)
}

// objectAccount is the account in which a worker reaches the objects of a job that it holds; nil:
// it holds none.
func (h *Hub) objectAccount(member, job string, connection uint64) *server.Account {
	h.mu.Lock()
	held := h.assignmentFor(member, job) != nil
	h.mu.Unlock()
	if !held {
		return nil
	}
	return h.objects.admit(member, job, connection)
}

// waitReason tells what an unfinished run waits for: a run before it, an answer that is not there,
// a time, or a user.
func (h *Hub) waitReason(run string) (why string, waits bool) {
	before, err := h.keeper.WaitsFor(run)
	if err != nil {
		return err.Error(), true
	}
	if before != "" {
		return "its task depends on that of run " + before, true
	}

	p := h.cfg.Project
	r, ok := journal.Summarize(p.Root, run)
	if !ok || r.Status != formats.OutcomeSuspended.String() || r.Code != "" {
		return "", false
	}
	if !r.Until.IsZero() && r.Due(time.Now()) {
		return "", false
	}
	if r.Gate == "" {
		return r.WaitReason(), true
	}

	_, g, err := p.Control.Gate(run)
	if err != nil {
		return "", false // its time is over
	}
	g.Run = run

	_, answered, err := p.Control.Answered(g)
	if answered && err == nil {
		return "", false
	}
	return r.WaitReason(), true
}

// wakeUp queues runs whose answer or time has come.
func (h *Hub) wakeUp(ctx context.Context) {
	const often = 500 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(often):
		}
		for _, j := range h.keeper.Unfinished() {
			h.mu.Lock()
			busy := h.queued[j.Run] || h.settling[j.Run] || h.stuck[j.Run] != "" ||
				h.assignmentOf(j.Run) != nil
			h.mu.Unlock()
			if busy || h.keeper.OrderOf(j.Run) == team.Pause {
				continue
			}

			if _, waits := h.waitReason(j.Run); waits && h.keeper.OrderOf(j.Run) == "" {
				continue
			}
			if err := h.submitAfter(ctx, j); err != nil {
				h.cfg.Tell("run %s: %s", j.Run, err)
			}
		}
	}
}

// orderRun pauses, resumes or cancels a run.
func (h *Hub) orderRun(ctx context.Context, q request) link.RunsReply {
	var o link.OrderRequest
	err := json.Unmarshal(q.data, &o)
	var job team.Job
	if err == nil {
		job, err = h.keeper.Find(o.Run)
	}

	var notes []string
	switch {
	case err != nil:
	case o.From != "":
		notes, err = h.goBack(ctx, q.from, job.Run, o)
	default:
		err = h.keeper.Order(job.Run, o.Do)
	}

	if err == nil && o.Do != team.Pause {
		err = h.submit(ctx, job)
	}
	return link.RunsReply{Run: job.Run, Notes: notes, Fault: fault(err)}
}

// goBack lets a run go on from an earlier step, and gives what there is to tell about that.
func (h *Hub) goBack(
	ctx context.Context, member, run string, o link.OrderRequest,
) (notes []string, err error) {
	if o.Do != team.Resume {
		return nil, formats.Fail(formats.CodeUsage, "tercet --on team resume RUN --from STEP",
			"a step does not go with %s", o.Do)
	}

	over, err := h.keeper.Finished(run)
	if err != nil {
		return nil, err
	}

	h.mu.Lock()
	busy := h.assignmentOf(run) != nil || h.settling[run]
	h.mu.Unlock()
	if busy && !over {
		return nil, formats.Fail(formats.CodeLocked,
			"wait for it, or pause it: tercet --on team pause "+run,
			"a worker works on run %s", run)
	}

	var mu sync.Mutex
	err = h.keeper.GoBack(ctx, run, team.BackTo{
		From: o.From,
		By:   member,
		Yes:  o.Yes,
		Tell: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, line)
		},
	})

	if err == nil {
		h.mu.Lock()
		// its worker is about to say that the run has ended
		if one := h.assignmentOf(run); one != nil {
			one.reopened = true
		}
		h.mu.Unlock()
		h.cfg.Tell("run %s: %s lets it go on from step %s", run, member, o.From)
	}
	mu.Lock()
	defer mu.Unlock()
	return notes, err
}

// teamState is what the team does.
func (h *Hub) teamState(ctx context.Context) link.Team {
	t := link.Team{Runs: []link.Run{}, Workers: []link.Worker{}, Members: h.members.list()}
	for _, j := range h.keeper.All() {
		r := h.runState(j)
		if r.State == "queued" && r.Why == "" {
			r.Why = h.whyUnassigned(ctx, j.Run)
		}
		t.Runs = append(t.Runs, r)
	}

	for _, s := range h.listSlots() {
		t.Workers = append(t.Workers, link.Worker{
			Name:    s.name,
			Ago:     time.Since(s.heard).Seconds(),
			Labels:  s.candidate.Labels,
			Version: s.candidate.Version,
			Refuses: s.candidate.Refuses,
		})
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.assigned {
		for i, w := range t.Workers {
			if w.Name == one.slot {
				t.Workers[i].Run = one.lease.Job.Run
			}
		}
	}
	return t
}

// runState tells what becomes of a run. What it waits for is looked up only where it waits: the
// status of a thousand runs is asked for again and again.
func (h *Hub) runState(j team.Job) link.Run {
	r := link.Run{Run: j.Run, Line: j.Line, Lines: h.keeper.Lines(j.Run)}
	over, err := h.keeper.Finished(j.Run)
	if err != nil {
		r.State = "broken"
		r.Why = err.Error()
		return r
	}
	if over {
		return h.describeEnd(r)
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	switch one := h.assignmentOf(j.Run); {
	case one != nil:
		r.State = "running"
		r.Worker = one.slot
	case h.settling[j.Run]:
		r.State = "running"
	case h.stuck[j.Run] != "":
		r.State = "stuck"
		r.Why = h.stuck[j.Run]
	case h.keeper.OrderOf(j.Run) == team.Pause:
		r.State = "paused"
	case h.queued[j.Run]:
		r.State = "queued"
	default:
		r.State = "waiting"
	}
	if r.State != "waiting" {
		return r
	}

	var waits bool
	r.Why, waits = h.waitReason(j.Run)
	if !waits {
		r.State = "queued" // it is as soon as wakeUp sees it
	}
	if before, err := h.keeper.WaitsFor(j.Run); err == nil && before != "" {
		r.State = "queued"
	}
	return r
}

// runEnd is how a run ended, as its journal said when it was read.
type runEnd struct {
	run  link.Run
	file fs.FileInfo // of the journal
}

// describeEnd tells how a run ended. The owner may have let it go on at the home since, which the
// file of its journal shows.
func (h *Hub) describeEnd(r link.Run) link.Run {
	root := h.cfg.Project.Root
	r.State = "ended"
	file, err := root.Stat(path.Join(journal.Folder, r.Run, journal.Name))
	if err != nil {
		r.Why = err.Error()
		return r
	}

	h.mu.Lock()
	known, ok := h.ends[r.Run]
	h.mu.Unlock()
	if ok && known.file.Size() == file.Size() && known.file.ModTime().Equal(file.ModTime()) {
		return known.run
	}

	records, err := journal.Load(root, r.Run)
	if err != nil {
		r.Why = err.Error()
		return r
	}
	end, over := journal.End(records)
	if !over {
		return h.describeAtHome(r)
	}

	r.Why = end.Status
	r.Code = formats.ExitCode(end.Return(r.Run))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ends[r.Run] = runEnd{run: r, file: file}
	return r
}

// describeAtHome tells about a run that the owner let go on at the home, outside of the team.
func (h *Hub) describeAtHome(r link.Run) link.Run {
	r.Worker = "home"
	if h.cfg.Project.AtWork(r.Run) {
		r.State = "running"
		return r
	}

	r.State = "waiting"
	r.Why = "the owner goes on with it at the home: tercet resume " + r.Run
	s, ok := journal.Summarize(h.cfg.Project.Root, r.Run)
	if ok && s.Gate != "" {
		r.Why = s.WaitReason()
	}
	return r
}

// Close ends the hub.
func (h *Hub) Close() error {
	if h.conn != nil {
		h.conn.Close()
	}
	if h.objects != nil {
		h.objects.close()
	}
	if h.server != nil {
		h.server.Shutdown()
		h.server.WaitForShutdown()
	}
	return h.keeper.Close()
}

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/team"
)

// objects are the large calls and answers of runs at work. Each member has an account of the server
// of its own, which no other one reaches, and in it a bucket for each job that needs one. Nothing
// here is kept: the home writes what counts into files, and a bucket goes with its job.
type objects struct {
	server   *server.Server
	password string

	mu    sync.Mutex
	homes map[string]*objectHome // by member
}

// objectHome is the hub's side of the account of a member.
type objectHome struct {
	account *server.Account
	conn    *nats.Conn
	js      jetstream.JetStream
	// buckets are by job, with the connections of its worker.
	buckets map[string]*bucket
}

type bucket struct {
	store       jetstream.ObjectStore
	connections []uint64
}

// maxBucket bounds the disk that one job uses, in bytes.
const maxBucket = 4 * link.MaxObject

// accountOf names the account of a member.
func accountOf(member string) string { return "objects-" + member }

// bucket gives the bucket of a job, which is made if it is missing.
func (o *objects) bucket(ctx context.Context, member, job string) (*link.Objects, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	home, err := o.home(member)
	if err != nil {
		return nil, err
	}
	if b := home.buckets[job]; b != nil {
		return link.ObjectsOf(b.store), nil
	}

	store, err := home.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket:   job,
		Storage:  jetstream.FileStorage,
		MaxBytes: maxBucket,
	})
	if err != nil {
		return nil, formats.Broken(formats.CodeTransient, "the object store of the hub", err)
	}
	home.buckets[job] = &bucket{store: store}
	return link.ObjectsOf(store), nil
}

// home connects the hub to the account of a member. The caller holds o.mu.
func (o *objects) home(member string) (*objectHome, error) {
	if home := o.homes[member]; home != nil {
		return home, nil
	}

	account, _ := o.server.LookupOrRegisterAccount(accountOf(member))
	if !account.JetStreamEnabled() {
		if err := account.EnableJetStream(nil, nil); err != nil {
			return nil, formats.Broken(formats.CodeTransient, "the object store of the hub", err)
		}
	}

	conn, err := nats.Connect("", nats.InProcessServer(o.server),
		nats.UserInfo(hubUser+"."+member, o.password))
	if err != nil {
		return nil, formats.Broken(formats.CodeTransient, "the object store of the hub", err)
	}

	home := &objectHome{account: account, conn: conn, buckets: map[string]*bucket{}}
	home.js, err = jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	o.homes[member] = home
	return home, nil
}

// admit notes a connection of a worker to the bucket of its job, and gives the account; nil: the
// job has no bucket.
func (o *objects) admit(member, job string, connection uint64) *server.Account {
	o.mu.Lock()
	defer o.mu.Unlock()
	home := o.homes[member]
	if home == nil || home.buckets[job] == nil {
		return nil
	}
	b := home.buckets[job]
	b.connections = append(b.connections, connection)
	return home.account
}

// drop removes the bucket of a job and ends the connections to it.
func (o *objects) drop(ctx context.Context, member, job string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	home := o.homes[member]
	if home == nil || home.buckets[job] == nil {
		return nil
	}

	for _, id := range home.buckets[job].connections {
		_ = o.server.DisconnectClientByID(id) //nolint:errcheck // it may have gone
	}
	delete(home.buckets, job)
	return home.js.DeleteObjectStore(ctx, job)
}

// close ends the connections of the hub.
func (o *objects) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, home := range o.homes {
		home.conn.Close()
	}
}

// openBucket makes the bucket of a job for its worker.
func (h *Hub) openBucket(ctx context.Context, q request) link.Bucket {
	var r link.Report
	if err := json.Unmarshal(q.data, &r); err != nil {
		return link.Bucket{Fault: fault(err)}
	}

	h.mu.Lock()
	held := h.assignmentFor(q.from, r.ID) != nil
	h.mu.Unlock()
	if !held {
		return link.Bucket{Fault: fault(formats.Fail(formats.CodeNotDurable,
			"nothing is to be done: another worker goes on with it", "another worker has the run"))}
	}

	if _, err := h.objects.bucket(ctx, q.from, r.ID); err != nil {
		return link.Bucket{Fault: fault(err)}
	}
	return link.Bucket{Name: r.ID}
}

// objectTime bounds how long the hub reads or writes one object.
const objectTime = 10 * time.Minute

// callData gives the data of a call that came as an object.
func (h *Hub) callData(ctx context.Context, q request) ([]byte, error) {
	if q.object == "" {
		return q.data, nil
	}

	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	all, err := h.objects.bucket(ctx, q.from, q.job)
	if err != nil {
		return nil, err
	}

	data, err := all.Take(ctx, q.object)
	if err != nil {
		return nil, formats.Broken(formats.CodeNotDurable, "an object of the run", err)
	}
	return data, nil
}

// newReply makes an answer, by an object if it is large.
func (h *Hub) newReply(ctx context.Context, q request, data []byte) *nats.Msg {
	m := nats.NewMsg("")
	m.Data = data
	if len(data) <= link.Inline {
		return m
	}

	ctx, cancel := context.WithTimeout(ctx, objectTime)
	defer cancel()
	all, err := h.objects.bucket(ctx, q.from, q.job)
	var name string
	if err == nil {
		name, err = all.Put(ctx, data)
	}

	if err != nil {
		m.Data = team.Refusal(formats.Broken(formats.CodeNotDurable, "an object of the run", err))
		return m
	}

	m.Header.Set(link.ObjectHeader, name)
	m.Data = nil
	return m
}

// dropObjects removes the objects of jobs that no worker holds any more. The caller may hold h.mu.
func (h *Hub) dropObjects(member, job string) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := h.objects.drop(ctx, member, job)
		if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			h.cfg.Tell("the objects of worker %s: %s", member, err)
		}
	}()
}

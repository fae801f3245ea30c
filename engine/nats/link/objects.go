package link

import (
	"bytes"
	"context"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tercet/formats"
)

// Inline bounds a call of a run, and its answer, that travel in a message, in bytes. Larger ones
// are objects in the bucket of the job, and the message has the name in ObjectHeader.
const Inline = 1 << 20

// The headers of calls and answers. JobHeader has the id of the job.
const (
	JobHeader    = "Job"
	ObjectHeader = "Object"
)

// MaxObject bounds a call or an answer, in bytes. Contents travel as base64, so they are at most
// MaxContent.
const (
	MaxObject  = 256 << 20
	MaxContent = MaxObject / 4 * 3
)

// TooLarge is the failure of a call or an answer about a run that is no object; nil: it is one.
func TooLarge(what string, size int) error {
	if size <= MaxObject {
		return nil
	}
	const mb = 1 << 20
	return formats.Fail(formats.CodeLimit,
		"keep large files in the worktree, which travels by git, and archive documents: /todo",
		"%s has %d MB of journal and documents: expected at most %d MB",
		what, size/4*3/mb, MaxContent/mb)
}

// Bucket is the answer to Store: the bucket of a job.
type Bucket struct {
	Name  string `json:"name"`
	Fault *Fault `json:"fault,omitempty"`
}

// jobPrefix begins the name of a connection to the objects of a job; the rest is the member. Its
// password is the id of the job, which only the hub and its worker know.
const jobPrefix = "job."

// MemberOfJob is the member of the name of a connection to objects; ok is false for other names.
func MemberOfJob(user string) (member string, ok bool) { return strings.CutPrefix(user, jobPrefix) }

// ObjectSubjects are those that an object store uses for one bucket.
func ObjectSubjects(bucket string) []string {
	stream := "OBJ_" + bucket
	return []string{
		"$O." + bucket + ".>",
		"$JS.API.STREAM.INFO." + stream,
		"$JS.API.STREAM.PURGE." + stream,
		"$JS.API.STREAM.MSG.GET." + stream,
		"$JS.API.DIRECT.GET." + stream,
		"$JS.API.DIRECT.GET." + stream + ".>",
		"$JS.API.CONSUMER.CREATE." + stream,
		"$JS.API.CONSUMER.CREATE." + stream + ".>",
		"$JS.API.CONSUMER.INFO." + stream + ".>",
		"$JS.API.CONSUMER.DELETE." + stream + ".>",
		"$JS.FC." + stream + ".>",
	}
}

// Objects are those of one job. They belong to one goroutine.
type Objects struct {
	conn  *nats.Conn // nil: it is another one's
	store jetstream.ObjectStore
}

// ObjectsOf are the objects of a bucket on a connection that stays open when they are closed.
func ObjectsOf(store jetstream.ObjectStore) *Objects { return &Objects{store: store} }

// untilLost is a context that also ends when the connection of the objects is lost.
func (o *Objects) untilLost(ctx context.Context) (within context.Context, end func()) {
	if o.conn == nil {
		return ctx, func() {}
	}
	return untilLost(ctx, o.conn)
}

// Objects opens the bucket of a job that the member holds.
func (c *Conn) Objects(ctx context.Context, job string) (*Objects, error) {
	var b Bucket
	err := c.Ask(ctx, Store, Report{ID: job}, &b)
	if err == nil {
		err = b.Fault.Err()
	}
	if err != nil {
		return nil, err
	}

	nc, err := connectJob(c.address, c.fingerprint, c.name, job)
	if err != nil {
		return nil, err
	}

	o := &Objects{conn: nc}
	js, err := jetstream.New(nc)
	if err == nil {
		o.store, err = js.ObjectStore(ctx, b.Name)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return o, nil
}

// ConnectJob connects a member to the objects of a job that it holds, and to nothing else.
func ConnectJob(m Member, job string) (*nats.Conn, error) {
	return connectJob(m.Address, m.Fingerprint, m.Name, job)
}

func connectJob(address string, fingerprint []byte, member, job string) (*nats.Conn, error) {
	return connect(address, fingerprint, job, nats.UserInfo(jobPrefix+member, job))
}

// Close ends the connection of the objects, if they have one.
func (o *Objects) Close() {
	if o.conn != nil {
		o.conn.Close()
	}
}

// Put stores a call or an answer, and gives its name.
func (o *Objects) Put(ctx context.Context, data []byte) (name string, err error) {
	ctx, end := o.untilLost(ctx)
	defer end()
	const chunk = 1 << 20 // each is synced to the disk
	name = formats.Sum(data)
	_, err = o.store.Put(ctx, jetstream.ObjectMeta{
		Name: name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk},
	}, bytes.NewReader(data))
	return name, err
}

// Take gives a call or an answer, and removes it.
func (o *Objects) Take(ctx context.Context, name string) ([]byte, error) {
	ctx, end := o.untilLost(ctx)
	defer end()
	data, err := o.store.GetBytes(ctx, name)
	if err != nil {
		return nil, err
	}

	if formats.Sum(data) != name {
		return nil, formats.Fail(formats.CodeDenied, "the run goes on with another attempt",
			"an object of the run is not what was sent")
	}
	return data, o.store.Delete(ctx, name)
}

package state

import (
	"bytes"
	"encoding/json"
	"io"

	"tercet/formats"
)

// wireTx is a transaction on its way to the owner of the state.
type wireTx struct {
	ID      string   `json:"id"`
	Session string   `json:"session"`
	Run     string   `json:"run"`
	Ops     []wireOp `json:"ops"`
}

type wireOp struct {
	Op    string          `json:"op"`
	Value json.RawMessage `json:"value"`
}

// wireOps read the operations that a run may ask of the owner of the state, by name.
func wireOps() map[string]func([]byte) (Op, error) {
	out := map[string]func([]byte) (Op, error){}
	addOp[CreateTasks](out)
	addOp[UpdateStatus](out)
	addOp[UpdateMetadata](out)
	addOp[LinkArtifacts](out)
	addOp[SetPhase](out)
	addOp[ArchiveTasks](out)
	addOp[UnarchiveTasks](out)
	addOp[DivideTask](out)
	addOp[SetLease](out)
	addOp[SyncTasks](out)
	return out
}

func addOp[T Op](to map[string]func([]byte) (Op, error)) {
	var zero T
	to[zero.name()] = func(data []byte) (Op, error) {
		var op T
		err := decodeStrict(data, &op)
		return op, err
	}
}

// decodeStrict decodes one JSON value without unknown members.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return formats.Fail(formats.CodeUsage, "", "expected one value, got more behind it")
	}
	return nil
}

// EncodeTx writes a transaction for the owner of the state on another machine. It must have an id:
// by it the owner knows a repeated transaction, and answers it without applying it again.
func EncodeTx(tx Tx) ([]byte, error) {
	if tx.ID == "" || tx.Force || tx.ExpectedSerial != nil {
		return nil, formats.Fail(formats.CodeBug, "",
			"expected a transaction of a run, with an id and without force")
	}

	out := wireTx{
		ID:      tx.ID,
		Session: tx.Session,
		Run:     tx.Run,
	}
	known := wireOps()
	for _, op := range tx.Ops {
		if known[op.name()] == nil {
			return nil, formats.Fail(formats.CodeBug, "",
				"expected an operation of a run, got %s", op.name())
		}

		value, err := json.Marshal(op)
		if err != nil {
			return nil, formats.Broken(formats.CodeBug, "operation "+op.name(), err)
		}
		out.Ops = append(out.Ops, wireOp{op.name(), value})
	}
	return json.Marshal(out)
}

// DecodeTx reads a transaction that EncodeTx wrote.
func DecodeTx(data []byte) (Tx, error) {
	var in wireTx
	if err := decodeStrict(data, &in); err != nil {
		return Tx{}, formats.Broken(formats.CodeUsage, "the transaction", err)
	}

	if in.ID == "" || len(in.Ops) == 0 {
		return Tx{}, formats.Fail(formats.CodeUsage, "",
			"expected a transaction with an id and an operation, got id %q and %d operations",
			in.ID, len(in.Ops))
	}

	tx := Tx{
		ID:      in.ID,
		Session: in.Session,
		Run:     in.Run,
	}
	known := wireOps()
	for _, one := range in.Ops {
		read := known[one.Op]
		if read == nil {
			return Tx{}, formats.Fail(formats.CodeUsage,
				"let both machines have the same version of tercet",
				"expected an operation of a run, got %q", one.Op)
		}

		op, err := read(one.Value)
		if err != nil {
			return Tx{}, formats.Broken(formats.CodeUsage, "operation "+one.Op, err)
		}
		tx.Ops = append(tx.Ops, op)
	}
	return tx, nil
}

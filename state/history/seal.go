package history

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// Seal signs the lines of the audit log. The key is outside the project, so a worker that can write
// to the workspace cannot forge a line. A nil seal signs nothing. Lines that were written before
// there was a key, or by another user, are accepted as they are; only lines that appear while a
// worker runs must be sealed.
type Seal struct {
	id  string // of the key
	key []byte
}

// NewSeal returns the seal of a key, or nil if there is none.
func NewSeal(key []byte) *Seal {
	if key == nil {
		return nil
	}
	return &Seal{id: formats.Sum(key)[:8], key: key}
}

// sign encodes a line. Its last member is the HMAC-SHA256 (RFC 2104) of the bytes before it.
func (s *Seal) sign(l Line) ([]byte, error) {
	if s == nil {
		return jsonx.Marshal(l, "")
	}
	l.Key = s.id
	raw, err := jsonx.Marshal(l, "")
	if err != nil {
		return nil, err
	}
	raw = raw[:len(raw)-1]
	return append(raw, s.macSuffix(raw)...), nil
}

const macMember = `,"mac":"`

func (s *Seal) macSuffix(body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body) // never fails
	return append(hex.AppendEncode([]byte(macMember), mac.Sum(nil)), `"}`...)
}

// anyUnsealed reports whether a line is not sealed by this key.
func (s *Seal) anyUnsealed(lines []byte) bool {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		at := max(bytes.LastIndex(line, []byte(macMember)), 0)
		if s != nil && !hmac.Equal(line[at:], s.macSuffix(line[:at])) {
			return true
		}
	}
	return false
}

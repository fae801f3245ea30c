package state

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"tercet/formats"
	"tercet/internal/jsonx"
)

// seal signs the lines of the audit log. The key is kept outside of the project, so a worker that
// may write to the workspace cannot write a line that passes for one of ours. A nil seal signs
// nothing. Lines from before the key, or of another user, are read as they are; only what appears
// while a worker runs has to be sealed.
type seal struct {
	id  string // of the key
	key []byte
}

// seal gives that of a lineage, nil where there is no key.
func (c Config) seal(lineage string) *seal {
	if c.Key == nil {
		return nil
	}
	key := c.Key(lineage)
	if key == nil {
		return nil
	}
	return &seal{id: formats.Sum(key)[:8], key: key}
}

// sign encodes a line. Its last member is the HMAC-SHA256 (RFC 2104) of what stands before it.
func (s *seal) sign(l auditLine) ([]byte, error) {
	if s == nil {
		return jsonx.Marshal(l, "")
	}
	l.Key = s.id
	raw, err := jsonx.Marshal(l, "")
	if err != nil {
		return nil, err
	}
	raw = raw[:len(raw)-1]
	return append(raw, s.end(raw)...), nil
}

const macMember = `,"mac":"`

func (s *seal) end(body []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write(body) // a hash takes everything
	return append(hex.AppendEncode([]byte(macMember), mac.Sum(nil)), `"}`...)
}

// broken tells whether one of the lines is not sealed by this key.
func (s *seal) broken(lines []byte) bool {
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		at := max(bytes.LastIndex(line, []byte(macMember)), 0)
		if s != nil && !hmac.Equal(line[at:], s.end(line[:at])) {
			return true
		}
	}
	return false
}

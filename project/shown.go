package project

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"tercet/formats"
)

// Shown says which question a user was shown, for a client that keeps it until the answer comes.
type Shown struct {
	Run    string `json:"run"`
	Gate   string `json:"gate"`   // the id of its opening
	Digest string `json:"digest"` // of what was shown
}

// sealedShown is what a client keeps.
type sealedShown struct {
	Shown Shown  `json:"shown"`
	MAC   []byte `json:"mac"`
}

// Seal makes a text of what was shown. Any process of the user can read it back, and nobody else
// can make one.
func (p *Project) Seal(s Shown) (string, error) {
	mac, err := p.shownMAC(s)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(sealedShown{s, mac})
	return base64.RawURLEncoding.EncodeToString(data), err
}

// Unseal reads back what Seal made.
func (p *Project) Unseal(text string) (Shown, error) {
	var got sealedShown
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &got)
	}

	mac, keyErr := p.shownMAC(got.Shown)
	if errors.Join(err, keyErr) != nil || !hmac.Equal(mac, got.MAC) {
		return Shown{}, formats.Fail(formats.CodeDenied, "ask for the question again",
			"expected what was given with the question, got something else")
	}
	return got.Shown, nil
}

// shownMAC seals with the user's key for runs.
func (p *Project) shownMAC(s Shown) ([]byte, error) {
	key := p.Control.Key("shown " + s.Run)
	if len(key) == 0 {
		return nil, formats.Fail(formats.CodeConfig, "set HOME or XDG_STATE_HOME",
			"found no folder of yours to keep a key in")
	}

	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return mac.Sum(nil), nil
}

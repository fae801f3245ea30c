//go:build !linux

package git

// StatFingerprint asks git for everything here.
func (r *Repo) StatFingerprint(...string) (fingerprint string, ok bool) {
	return "", false
}

package hub

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tercet/engine/nats/link"
	"tercet/formats"
	"tercet/internal/atomicfile"
)

// hubIdentity is the certificate of a hub. It stays the same when the hub starts again.
type hubIdentity struct {
	key  ed25519.PrivateKey
	cert []byte
}

type identFile struct {
	Key  []byte `json:"key"`
	Cert []byte `json:"cert"`
}

// loadIdentity reads the identity of a hub from its folder, or makes it.
func loadIdentity(folder string) (*hubIdentity, error) {
	name := filepath.Join(folder, "identity.json")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return newIdentity(folder, name)
	}
	if err != nil {
		return nil, formats.OnFile("read", name, err)
	}

	var f identFile
	if err := json.Unmarshal(data, &f); err != nil || len(f.Key) != ed25519.PrivateKeySize {
		return nil, formats.Fail(formats.CodeConfig,
			"move the file away; everybody then has to join again",
			"%s: expected the key and the certificate of a hub", name)
	}
	return &hubIdentity{ed25519.PrivateKey(f.Key), f.Cert}, nil
}

func newIdentity(folder, name string) (*hubIdentity, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}

	const years = 20
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(years, 0, 0),
		DNSNames:     []string{"tercet-hub"},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}

	data, err := json.Marshal(identFile{key, cert})
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, formats.OnFile("make", folder, err)
	}
	err = atomicfile.Write(name, data, atomicfile.Options{Mode: 0o600})
	if err != nil {
		return nil, formats.OnFile("write", name, err)
	}
	return &hubIdentity{key, cert}, nil
}

func (i *hubIdentity) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{{
			Certificate: [][]byte{i.cert},
			PrivateKey:  i.key,
		}},
	}
}

func (i *hubIdentity) fingerprint() [sha256.Size]byte { return sha256.Sum256(i.cert) }

// newToken is a secret for an invitation.
func newToken() string {
	token := make([]byte, link.TokenBytes())
	rand.Read(token) // it never fails
	return string(token)
}

// hostPort splits an address.
func hostPort(address string) (string, int, error) {
	host, text, err := net.SplitHostPort(address)
	port, perr := strconv.Atoi(text)
	if err != nil || perr != nil || port < 0 || port > 65535 {
		return "", 0, formats.Fail(formats.CodeUsage, "such as --listen 127.0.0.1:4333",
			"expected HOST:PORT to listen at, got %q", address)
	}

	if port == 0 {
		port = -1 // any, in the words of the server
	}
	return host, port, nil
}

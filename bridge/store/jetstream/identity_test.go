package jetstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
)

// TestCredentials: a file with an nkey and a JWT says who a node is.
func TestCredentials(t *testing.T) {
	t.Parallel()
	operator, account, user := key(t, nkeys.CreateOperator), key(t, nkeys.CreateAccount), key(t, nkeys.CreateUser)
	publish, subscribe := Rights(false)
	all := map[string]any{"allow": publish}
	limits := map[string]any{"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1}
	system := key(t, nkeys.CreateAccount)
	config := fmt.Sprintf("operator: %s\nresolver: MEMORY\nsystem_account: %s\n", token(t, operator, operator, map[string]any{"type": "operator", "version": 2}), public(t, system))
	config += fmt.Sprintf("resolver_preload: { %s: %s, ", public(t, system), token(t, operator, system, map[string]any{"type": "account", "version": 2, "limits": limits}))
	stored := map[string]any{"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
	maps.Copy(stored, limits)
	config += fmt.Sprintf("%s: %s }\n", public(t, account), token(t, operator, account, map[string]any{"type": "account", "version": 2, "limits": stored}))
	each(t, natstest.Options{Client: config}, func(t *testing.T, c *natstest.Cluster) {
		maker := credentials(t, user, token(t, account, user, map[string]any{"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1}))
		least := credentials(t, user, token(t, account, user, map[string]any{
			"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1, "pub": all, "sub": map[string]any{"allow": subscribe},
		}))
		if _, err := Open(t.Context(), Options{Servers: c.URLs()}); err == nil || !strings.Contains(err.Error(), "Authorization") {
			t.Fatalf("without credentials: %v", err)
		}
		connect(t, c, func(o *Options) { o.Credentials = maker })
		s := connect(t, c, func(o *Options) { o.Credentials = least })
		if _, err := s.Create(t.Context(), "n.A", nil); err != nil {
			t.Fatal(err)
		}
		stranger := credentials(t, key(t, nkeys.CreateUser), "x.y.z")
		if _, err := Open(t.Context(), Options{Servers: c.URLs(), Credentials: stranger}); err == nil {
			t.Fatal("a stranger's credentials are taken")
		}
		if _, err := Open(t.Context(), Options{Servers: c.URLs(), Credentials: filepath.Join(t.TempDir(), "none")}); err == nil {
			t.Fatal("a file that is not there is taken")
		}
	})
}

// TestTLS: a server is believed by its certificate, and asks for one.
func TestTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	authority := certificate(t, nil, "authority")
	server, own := certificate(t, &authority, "server"), certificate(t, &authority, "node")
	for name, c := range map[string]tls.Certificate{"authority": authority, "server": server} {
		private, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
		if err := os.WriteFile(filepath.Join(folder, name+".pem"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf("tls { cert_file: %q, key_file: %[1]q, ca_file: %q, verify: true }\n", filepath.Join(folder, "server.pem"), filepath.Join(folder, "authority.pem"))
	pool := x509.NewCertPool()
	pool.AddCert(authority.Leaf)
	each(t, natstest.Options{Client: config}, func(t *testing.T, c *natstest.Cluster) {
		s := connect(t, c, func(o *Options) {
			o.TLS = &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
		})
		if _, err := s.Create(t.Context(), "n.A", nil); err != nil {
			t.Fatal(err)
		}
		for what, config := range map[string]*tls.Config{
			"the system's authorities": {Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12},
			"no certificate":           {RootCAs: pool, MinVersion: tls.VersionTLS12},
			"nothing":                  nil,
		} {
			if _, err := Open(t.Context(), Options{Servers: c.URLs(), TLS: config}); err == nil {
				t.Errorf("with %s it connects", what)
			}
		}
	})
}

// certificate makes one for loopback, signed by itself or by the authority.
func certificate(t *testing.T, by *tls.Certificate, name string) tls.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: by == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := form, any(private)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, form, parent, &private.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}
}

func key(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func public(t *testing.T, pair nkeys.KeyPair) string {
	t.Helper()
	text, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// token makes a JWT of NATS about a key, signed by another.
func token(t *testing.T, by, about nkeys.KeyPair, claims map[string]any) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	body := part(map[string]string{"typ": "JWT", "alg": "ed25519-nkey"}) + "." + part(map[string]any{
		"jti": rand.Text(), "iat": time.Now().Unix(), "iss": public(t, by), "sub": public(t, about), "name": "test", "nats": claims,
	})
	signature, err := by.Sign([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return body + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// credentials writes the file of a user.
func credentials(t *testing.T, user nkeys.KeyPair, token string) string {
	t.Helper()
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "node.creds")
	text := fmt.Sprintf("-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n", token, seed)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package cluster

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// hang is a bound that only a defect reaches.
const hang = 30 * time.Second

func identity(t testing.TB, name string, now func() time.Time, all ...key.Key) *Identity {
	t.Helper()
	keys := key.Keys{Now: all[0]}
	if len(all) > 1 {
		keys.Also = all[1]
	}
	id, err := NewIdentity(name, keys, now)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// speak connects a client to a server, and has one say a word to the other in both directions.
func speak(t testing.TB, server, client *tls.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer raw.Close()
		c := tls.Server(raw, server)
		if err := c.HandshakeContext(ctx); err != nil {
			served <- err
			return
		}
		_, err = io.CopyN(c, c, 4)
		served <- err
	}()
	d := tls.Dialer{Config: client}
	c, err := d.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		return errors.Join(err, <-served)
	}
	defer c.Close()
	_, err = io.WriteString(c, "word")
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 4))
	}
	return errors.Join(err, <-served)
}

// TestAuthorityIsTheSame: every node derives the same bytes from one key, and others from another.
func TestAuthorityIsTheSame(t *testing.T) {
	k := key.New()
	var all [][]byte
	for _, of := range []key.Key{k, k, key.New()} {
		a, err := newAuthority(of, key.Authority)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a.certificate.Raw)
	}
	if !bytes.Equal(all[0], all[1]) || bytes.Equal(all[0], all[2]) {
		t.Errorf("the authorities are %x", all)
	}
}

// forged makes a certificate as an authority would, but for what change does.
func forged(t *testing.T, a *authority, change func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(9), DNSNames: []string{"a." + domain}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	change(template)
	parent, signer := template, private
	if a != nil {
		parent, signer = a.certificate, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// TestOnlyNodesSpeak: nodes of one key speak to each other. A stranger, one without a certificate, one
// of another key, one of another name and one whose certificate has ended do not, as client and as
// server.
func TestOnlyNodesSpeak(t *testing.T) {
	k, other := key.New(), key.New()
	b := identity(t, "b", nil, k)
	a, err := newAuthority(k, key.Authority)
	if err != nil {
		t.Fatal(err)
	}
	as := func(c *tls.Certificate) *Identity {
		id := identity(t, "a", nil, k)
		id.now = time.Now
		c.Leaf, _ = x509.ParseCertificate(c.Certificate[0])
		id.made.Store(c)
		return id
	}
	named := func(names ...string) *Identity {
		return as(forged(t, a, func(c *x509.Certificate) { c.DNSNames = names }))
	}
	late := func() time.Time { return time.Now().Add(certificateLife + clockSkew) }
	ended := identity(t, "a", nil, k)
	ended.now = func() time.Time { return ended.made.Load().Leaf.NotBefore.Add(time.Hour) } // it makes no other
	for why, x := range map[string]struct {
		id *Identity
		ok bool
	}{
		"a node":                     {identity(t, "a", nil, k), true},
		"as an authority signs":      {named("a." + domain), true},
		"another key":                {identity(t, "a", nil, other), false},
		"signed by itself":           {as(forged(t, nil, func(*x509.Certificate) {})), false},
		"another name":               {named("a.example"), false},
		"the domain":                 {named(domain), false},
		"a name below a node":        {named("x.a." + domain), false},
		"any node":                   {named("*." + domain), false},
		"two nodes":                  {named("a."+domain, "c."+domain), false},
		"no name":                    {named(), false},
		"an address besides":         {as(forged(t, a, func(c *x509.Certificate) { c.IPAddresses = []net.IP{{127, 0, 0, 1}} })), false},
		"a URI besides":              {as(forged(t, a, func(c *x509.Certificate) { c.URIs = []*url.URL{{Scheme: "x", Host: "y"}} })), false},
		"for another use":            {as(forged(t, a, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} })), false},
		"a day ahead":                {as(forged(t, a, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })), false},
		"one that has ended already": {as(forged(t, a, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })), false},
	} {
		// Its own certificate is used as it is: what the node believes of it does not count.
		own := func(c *tls.Config) *tls.Config {
			made := x.id.made.Load()
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return made, nil }
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return made, nil }
			return c
		}
		if err := speak(t, b.Server(), own(x.id.Client("b"))); (err == nil) != x.ok {
			t.Errorf("%s, as a client: %v", why, err)
		}
		if err := speak(t, own(x.id.Server()), b.Client("a")); (err == nil) != x.ok {
			t.Errorf("%s, as a server: %v", why, err)
		}
	}
	if err := speak(t, identity(t, "b", late, k).Server(), ended.Client("b")); err == nil {
		t.Error("a certificate of long ago is good")
	}

	none := b.Client("b")
	none.GetClientCertificate = nil
	if err := speak(t, b.Server(), none); err == nil {
		t.Error("without a certificate it speaks")
	}
	older := identity(t, "a", nil, k).Client("b")
	older.MinVersion, older.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if err := speak(t, b.Server(), older); err == nil {
		t.Error("it speaks TLS 1.2")
	}
	if err := speak(t, b.Server(), identity(t, "a", nil, k).Client("c")); err == nil {
		t.Error("a node is taken for another one")
	}
}

// TestKeysAreReplaced: in each of the three rounds of replacing a key, nodes before and after it speak
// to each other. A node that never heard of the new key does not speak to one that has no other.
func TestKeysAreReplaced(t *testing.T) {
	old, next := key.New(), key.New()
	rounds := [][]key.Key{{old}, {old, next}, {next, old}, {next}}
	for i := range rounds {
		for j := range rounds {
			x, y := identity(t, "a", nil, rounds[i]...), identity(t, "b", nil, rounds[j]...)
			near := i-j <= 1 && j-i <= 1
			if err := speak(t, x.Server(), y.Client("a")); near && err != nil || i+j == 3 && i*j == 0 && err == nil {
				t.Errorf("round %d with round %d: %v", i, j, err)
			}
		}
	}
}

// TestCertificatesAreRenewed: a node that runs for long has another certificate before the one before
// ends, also when its clock was set back; clocks may be a day apart.
func TestCertificatesAreRenewed(t *testing.T) {
	var at atomic.Int64
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at.Store(start.Unix())
	now := func() time.Time { return time.Unix(at.Load(), 0) }
	k := key.New()
	a, b := identity(t, "a", now, k), identity(t, "b", now, k)
	first := a.made.Load()
	for _, x := range []struct {
		after time.Duration
		same  bool
	}{{19 * 24 * time.Hour, true}, {21 * 24 * time.Hour, false}, {90 * 24 * time.Hour, false}, {-2 * 24 * time.Hour, false}} {
		at.Store(start.Add(x.after).Unix())
		if err := speak(t, a.Server(), b.Client("a")); err != nil {
			t.Errorf("after %s: %v", x.after, err)
		}
		if same := a.made.Load() == first; same != x.same {
			t.Errorf("after %s, the certificate is the first one: %v", x.after, same)
		}
	}
	at.Store(start.Unix())
	for _, skew := range []time.Duration{23 * time.Hour, -23 * time.Hour} {
		other := identity(t, "c", func() time.Time { return now().Add(skew) }, k)
		if err := errors.Join(speak(t, identity(t, "a", now, k).Server(), other.Client("a")), speak(t, other.Server(), identity(t, "a", now, k).Client("c"))); err != nil {
			t.Errorf("%s apart: %v", skew, err)
		}
	}
}

// TestNodeNames: a node has a name that is one label.
func TestNodeNames(t *testing.T) {
	for name, ok := range map[string]bool{"a": true, "node-1": true, "0": true, "": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "ü": false, "a\n": false,
		"a23456789012345678901234567890123456789012345678901234567890123": true, "a234567890123456789012345678901234567890123456789012345678901234": false} {
		if _, err := NewIdentity(name, key.Keys{Now: key.New()}, nil); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// domain is the domain of nodes in certificates. It is not a domain of the network.
const domain = "pagetools"

const (
	// certificateLife says how long the certificate of a node is valid, and renewBefore how long before
	// its end the node has another one.
	certificateLife = 30 * 24 * time.Hour
	renewBefore     = certificateLife / 3
	// clockSkew bounds how far the clocks of two nodes may be apart.
	clockSkew = 24 * time.Hour
)

// firstDay and lastDay bound what has the same dates on every node.
var firstDay, lastDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// nodeName is the form of the names of nodes: one label of a name of the DNS.
var nodeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// ValidName reports whether a node can have the name: 1 to 63 small letters, digits and hyphens.
func ValidName(name string) bool { return nodeName.MatchString(name) }

// authority signs the certificates of the nodes of one key. Every node makes the same.
type authority struct {
	certificate *x509.Certificate
	key         ed25519.PrivateKey
}

// newAuthority derives the authority of nodes, or that of their engines. Its certificate is the same
// bytes on every node, because the serial and the dates are fixed and signatures of Ed25519 have
// nothing random.
func newAuthority(k key.Key, of key.Purpose) (*authority, error) {
	private := ed25519.NewKeyFromSeed(k.Subkey(of))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the nodes of a pagetools cluster"},
		NotBefore: firstDay, NotAfter: lastDay,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	if of == key.Engine { // it has the name under which the others reach it
		template.Subject.CommonName = "the engines of a pagetools cluster"
	} else {
		template.PermittedDNSDomainsCritical, template.PermittedDNSDomains = true, []string{domain}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, fmt.Errorf("making the authority of the nodes: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate, private}, err
}

// sign makes the certificate of a node, with a key that never leaves the process.
func (a *authority) sign(node string, now time.Time) (*tls.Certificate, error) {
	return a.complete(&x509.Certificate{DNSNames: []string{node + "." + domain}, NotBefore: now.Add(-clockSkew), NotAfter: now.Add(certificateLife)})
}

// complete makes a certificate for both sides of a connection, with a new key.
func (a *authority) complete(template *x509.Certificate) (*tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of a node: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making the certificate of a node: %w", err)
	}
	template.SerialNumber, template.KeyUsage, template.BasicConstraintsValid = serial.Add(serial, big.NewInt(2)), x509.KeyUsageDigitalSignature, true
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("making the certificate of a node: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf}, err
}

// Identity proves to other nodes that this is a node, and knows whether they are. It is safe for
// concurrent use.
type Identity struct {
	name  string
	own   *authority
	trust *x509.CertPool
	now   func() time.Time
	made  atomic.Pointer[tls.Certificate]
}

// NewIdentity makes the identity of the node of that name. It trusts the nodes of both keys.
func NewIdentity(name string, keys key.Keys, now func() time.Time) (*Identity, error) {
	if !ValidName(name) {
		return nil, fmt.Errorf("invalid value %q for the name of a node: must be 1 to 63 small letters, digits and hyphens", name)
	}
	if now == nil {
		now = time.Now
	}
	id := &Identity{name: name, trust: x509.NewCertPool(), now: now}
	for i, k := range keys.All() {
		a, err := newAuthority(k, key.Authority)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			id.own = a
		}
		id.trust.AddCert(a.certificate)
	}
	_, err := id.certificate()
	return id, err
}

// certificate returns the node's certificate, and makes the next one before it ends. Connections that
// are open keep theirs.
func (id *Identity) certificate() (*tls.Certificate, error) {
	now := id.now()
	if c := id.made.Load(); c != nil && now.After(c.Leaf.NotBefore) && now.Before(c.Leaf.NotAfter.Add(-renewBefore)) {
		return c, nil
	}
	c, err := id.own.sign(id.name, now)
	if err == nil {
		id.made.Store(c) // two that are made at once are both good
	}
	return c, err
}

// Server returns the configuration of the listener for other nodes.
func (id *Identity) Server() *tls.Config {
	c := id.both()
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, id.trust
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return id.certificate() }
	c.SessionTicketsDisabled = true // each connection proves its key anew
	return c
}

// Client returns the configuration of connections to the node of that name.
func (id *Identity) Client(node string) *tls.Config {
	c := id.both()
	c.RootCAs, c.ServerName = id.trust, node+"."+domain
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return id.certificate() }
	return c
}

func (id *Identity) both() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Time: id.now, NextProtos: []string{"http/1.1"},
		VerifyConnection: isNode}
}

var errNoNode = errors.New("the certificate is not that of a node")

// isNode refuses a certificate that names anything else than one node: what else an authority signed.
func isNode(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errNoNode
	}
	leaf := s.PeerCertificates[0]
	if len(leaf.DNSNames) != 1 || len(leaf.IPAddresses)+len(leaf.EmailAddresses)+len(leaf.URIs) > 0 {
		return errNoNode
	}
	if name, ok := strings.CutSuffix(leaf.DNSNames[0], "."+domain); !ok || !ValidName(name) {
		return errNoNode
	}
	return nil
}
